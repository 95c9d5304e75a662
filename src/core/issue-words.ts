const KINDS: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
}

/** What a person should read where a schema has no words of its own: zod's are for programmers. */
export function issueWords(issue: { readonly message: string }): string {
  const found = /^Invalid input: expected (\w+), received (\w+)$/.exec(issue.message)
  if (found === null) return issue.message
  const [, expected = '', received = ''] = found
  const wanted = KINDS[expected] ?? expected
  return received === 'undefined'
    ? `is missing, expected ${wanted}`
    : `is ${KINDS[received] ?? received}, not ${wanted}`
}
