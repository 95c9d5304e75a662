/** Amounts in billionths, the smallest that Kubernetes keeps. */
const BILLIONTHS = 1_000_000_000n

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
/** Where in `DECIMAL` there is no suffix. */
const ONES = 3

type Format = 'binary' | 'decimal' | 'exponent'

interface Quantity {
  readonly billionths: bigint
  readonly format: Format
}

/**
 * A quantity as the API server stores it: `8388608Ki` becomes `8Gi`, `1000m` becomes `1`, `1000` becomes `1k`. Null when
 * it is none.
 */
export function canonicalQuantity(text: string): string | null {
  const quantity = parse(text)
  if (quantity === null) return null
  const { billionths, format } = quantity
  const absolute = billionths < 0n ? -billionths : billionths
  const sign = billionths < 0n ? '-' : ''
  // Less than the smallest binary suffix is written as a decimal number, so that nothing is rounded away.
  if (format === 'binary' && absolute >= 1024n * BILLIONTHS) return sign + binary(absolute)
  return sign + decimal(absolute, format === 'exponent')
}

/** The amount in whole units, rounded up; 0 when it is no quantity. */
export function wholeUnits(text: string | undefined): number {
  const quantity = text === undefined ? null : parse(text)
  return quantity === null ? 0 : Number(ceilDivide(quantity.billionths, BILLIONTHS))
}

/** The amount in thousandths, rounded up; 0 when it is no quantity. */
export function thousandths(text: string | undefined): number {
  const quantity = text === undefined ? null : parse(text)
  return quantity === null ? 0 : Number(ceilDivide(quantity.billionths, BILLIONTHS / 1000n))
}

function parse(text: string): Quantity | null {
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE])([+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]?))$/.exec(text)
  if (parts === null) return null
  const [, sign, whole = '', fraction = '', exponent, power = '0', suffix = ''] = parts
  if (whole === '' && fraction === '') return null
  const digits = BigInt(whole + fraction)
  const scaled =
    exponent === undefined
      ? digits * unitInBillionths(suffix)
      : shift(digits * BILLIONTHS, Number.parseInt(power, 10))
  const billionths = ceilDivide(scaled, 10n ** BigInt(fraction.length))
  const format = exponent !== undefined ? 'exponent' : suffix.endsWith('i') ? 'binary' : 'decimal'
  return { billionths: sign === '-' ? -billionths : billionths, format }
}

function unitInBillionths(suffix: string): bigint {
  if (suffix.endsWith('i')) return BILLIONTHS * 1024n ** BigInt(BINARY.indexOf(suffix) + 1)
  return 1000n ** BigInt(DECIMAL.indexOf(suffix))
}

function shift(value: bigint, power: number): bigint {
  return power < 0 ? ceilDivide(value, 10n ** BigInt(-power)) : value * 10n ** BigInt(power)
}

function ceilDivide(value: bigint, by: bigint): bigint {
  return value % by === 0n || value < 0n ? value / by : value / by + 1n
}

function binary(billionths: bigint): string {
  let value = ceilDivide(billionths, BILLIONTHS)
  let suffix = 0
  while (value % 1024n === 0n && suffix < BINARY.length) {
    value /= 1024n
    suffix += 1
  }
  return `${value}${BINARY[suffix - 1] ?? ''}`
}

function decimal(billionths: bigint, asExponent: boolean): string {
  if (billionths === 0n) return '0'
  let value = billionths
  let suffix = 0
  while (value % 1000n === 0n && suffix < DECIMAL.length - 1) {
    value /= 1000n
    suffix += 1
  }
  if (!asExponent) return `${value}${DECIMAL[suffix]}`
  return suffix === ONES ? `${value}` : `${value}e${(suffix - ONES) * 3}`
}
