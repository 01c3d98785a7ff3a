"""What users call: thin twins side by side, one primitive a file. They validate, and pass on."""
