"""Pictures and the data behind them: `info` builds plain data, `plots` draws it."""
