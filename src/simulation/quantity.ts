const SUFFIXES: Readonly<Record<string, number>> = {
  '': 1,
  m: 0.001,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
}

/** Are these the same amount? The API server rewrites what it stores: 8388608Ki comes back as 8Gi. */
export function sameQuantity(one: string | undefined, other: string | undefined): boolean {
  return one === other || (one !== undefined && other !== undefined && amountOf(one) === amountOf(other))
}

function amountOf(quantity: string): number {
  const [, number = '', suffix = ''] = /^([0-9.]+)([A-Za-z]*)$/.exec(quantity) ?? []
  return Number(number) * (SUFFIXES[suffix] ?? Number.NaN)
}
