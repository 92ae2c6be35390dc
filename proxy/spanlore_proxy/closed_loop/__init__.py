"""Sessions in sequence over made-up repositories, with a scripted model: plumbing, not a model's benefit."""
