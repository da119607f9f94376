// promptfoo: recorded responses through its echo provider, an llm-rubric assertion a constraint.
const fs = require('fs');
const rows = fs.readFileSync(`${__dirname}/rows.jsonl`, 'utf8').trim().split('\n').map(JSON.parse);

module.exports = {
  description: 'Six recorded responses',
  prompts: ['{{response}}'],
  providers: ['echo'],
  defaultTest: {
    options: {
      provider: {
        id: 'openai:chat:judge',
        config: { apiBaseUrl: process.env.JUDGE_URL, apiKey: 'none' },
      },
    },
  },
  tests: rows.map((row) => ({
    description: row.id,
    vars: { response: row.response },
    assert: row.checklist.map((value) => ({ type: 'llm-rubric', value })),
  })),
};
