"""The judge's prompts, as Markdown. A file of the same name in the config directory's `prompts` replaces one."""
