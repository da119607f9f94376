"""A local web application to look at runs: prompts, responses, and who decided what."""
