"""Abbreviations of several languages, by what their full stop may mean.

The lists hold words in lower case without the last stop. What is on none of them is judged by its
shape in :mod:`heedful.verify.text.boundaries`.
"""

from __future__ import annotations

from heedful.verify.text.english import built_in


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES = _words(
    """
    adm brig capt cdr cmdr cmdt col comdr cpl cpt dr drs fr gen gov hon insp lieut lt maj messrs
    mlle mlles mme mmes mr mrs ms msgr mt mx ofc pfc pres prof profs pvt rep reps rev sen sens
    sgt st supt arq atte dña dra excma excmo exma exmo frl hr ing lcda lcdo lic mag mgr mons
    pbro profa sra sras sres srta srtas sto sta avv dott dssa egr geom gent sig sigg sigra spett
    dhr mevr mw акад гг доц им проф
    """
)
"""A name follows these."""

GOING_ON = _words(
    """
    approx ca cf chaps chs e.g eq eqs figs i.e nos pp viz vol vols vs bzgl d.h ggf i.d.r inkl
    insb m.e nr o.g p.ex s.o s.u sog u.u vgl z.b z.hd zzgl n.º n° núm núms nº p.ej pág págs párr
    párrf párrfs tít n.b p.e réf es.g pagg bijv blz d.w.z т.е напр рис табл тов
    """
)
"""Something always follows these."""

FINAL_TOO = _words(
    """
    a.k.a abb al appx assoc apt asst atty bldg abbr adj anon blvd chas chr cit comm cont contd
    conj cor deut eccl exod ezek geo govt hab heb illus interj isa jas jer jos judg lev loc matt
    masc mgmt neh neut obad obs orig philem pron prov rom secy ste subsp suppl symph thess thos
    treas vers wm zech zeph bd bl ch eg kap pag sez v zb см ср стр ул assn avg bros chem cm corp
    dept dist div ed.d eds encl esp est etc ext excl ft fwd hr hrs hwy ibid incl intl jr kg km
    lb lbs lit llc ltd med misc natl oz p para paras ph.d pkwy pl plc pt pts qty rd resp rs sec
    sect sects ser sq subsec tbsp tel trans tsp univ viz wt yd yds yr yrs abschn allg aufl
    ausschl bearb betr bsp bspw bzw dergl dgl ebd einschl etw ev evtl geb gebr gegr gest ggü
    hrsg insbes jh jhd jt kath evang lt mio mrd o.ä österr s str tägl u.a u.ä usf usw ugs urspr
    verh wg z.t zit zt a.c aa.vv admón af afmo art av avda c/ cf cía cta d.c depto dpto dto ee
    ej entlo fdo gral gob hs izda izq kilom máx mín mts op ptas pza s.a seg sem ss tlf uds ud uu
    vda vid boul chap coll dép éd env ill inc n-b qqn qqch tél cfr ecc edit fatt geom gg hl lett
    mitt sgg afb afd bv dd e.a e.d enz evt ged m.b.t o.a t/m zgn г гг д др кв км коп млн млрд
    обл пер пос р руб св сек тыс шт itd itp np tzn tzw apod atd např tzv esim jne ym osv dvs
    t.ex bl.a esq sr rt ens rag bc acct amt att circ def dir enc freq inst inv lang obj perf
    poss prob proc subj usu engr expy fwy hosp hist penn oreg nebr mont sask
    """
) | {word for word in built_in().abbreviations if len(word) > 1 and word[-1].isalpha()}
"""These may end a sentence."""

WORDS_TOO = _words(
    """
    abs add admin all art arts ave cap caps col cos do doc ed ex exec fem fig gal gent gob hg
    ill in is lit mag man mar mass max men mil min mind mod no on op par phil plur pop prep prop
    rag rep ret resp sat sec seg sem ser sing sun tab temp ter tim tit trans van war wed alt hat
    ms ok prod ref reg spec tech miss
    """
)
"""English words as well. In lower case before a capital they end a sentence."""

BEFORE_NUMBERS = _words(
    """
    apr aug ch chap chaps dec eq eqs feb fig figs jan jul jun nos nov nr oct p pp sec secs sep sept
    vol vols
    """
)
"""A number that follows these belongs to them."""

FINAL_VERBS = _words(
    """
    है हैं हूँ हूं हो था थी थे थीं गा गी गे गया गई गए दिया किया लिया आहे आहेत होता होती होते छ છે છો છું
    હતું હતો હતી હતા ਹੈ ਹਨ ਸੀ ਸਨ است شد بود ہے ہیں ہوں ہو تھا تھی تھے تھیں گا گی گے گیا گئی گئے
    دیا کیا لیا
    """
)
"""Short verbs that end sentences in scripts whose short words may be abbreviations."""

NAMES_WITH_MARKS = _words("guess jeopardy joomla kahoot oklahoma panic yahoo yum")
"""Names that are written with an exclamation or question mark."""

COMPANIES = _words("ag co corp gmbh inc llc llp ltd plc sa")
"""These follow a company's name, such as Yahoo!"""

_ENGLISH = _words(
    """
    a an and are as at be but by can for from had has have he her his i if in is it my not of
    our she that the their them there they this to was we were will with would you your
    """
)
FUNCTION_WORDS = _words(
    """
    aber als am auch auf aus bei das dem den der des die ein eine einen er es für hat ich im ist
    mit nicht sich sie sind und von war wie wir zu zum zur al como con de del el en es esta fue
    ha la las lo los más no para pero por que se su un una y au aux avec ce dans du elle est et
    il je la le les mais ne nous ont par pas pour qui sur une alla che con da dei del della di è
    gli il io ma mi nel non per più sono à ao as com da do e em foi isso mas na não nos o os
    pela seu um uma você dat deze een het ik maar niet nog ook op te van voor wat zijn att av de
    den det du en för har inte jag och på som är ett til og ikke ale być co do go jak je jest
    nie od po się tak to w z że
    """
)
"""The most frequent words of German, Spanish, French, Italian, Portuguese, Dutch and others."""


def is_foreign(text: str) -> bool:
    """Guess by its most frequent words whether a text is in another language than English.

    >>> is_foreign("Wir trafen ihn in der Stadt."), is_foreign("We met him in the café.")
    (True, False)
    """
    words = text[:2000].lower().split()
    english = sum(map(_ENGLISH.__contains__, words))
    foreign = sum(map(FUNCTION_WORDS.__contains__, words))
    if not english + foreign:
        return any(sign.isalpha() and not sign.isascii() for sign in text[:2000])
    return foreign > english
