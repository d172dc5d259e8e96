throw new Error('A comment was taken for an import.')
