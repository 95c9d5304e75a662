/** As much of ASN.1 DER as a certificate needs. Each function gives one whole element. */

export function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, ...parts)
}

export function set(...parts: readonly Buffer[]): Buffer {
  return element(0x31, ...parts)
}

/** Of unsigned big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  // A leading bit would make it negative.
  return element(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes)
}

export function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.from([value ? 0xff : 0]))
}

export function utf8(text: string): Buffer {
  return element(0x0c, Buffer.from(text))
}

/** Until the year 2050, after which certificates use another type. */
export function utcTime(date: Date): Buffer {
  const digits = date.toISOString().replace(/\D/g, '').slice(2, 14)
  return element(0x17, Buffer.from(`${digits}Z`))
}

export function octets(bytes: Buffer): Buffer {
  return element(0x04, bytes)
}

/** `unused`: how many bits at the end say nothing. */
export function bits(bytes: Buffer, unused = 0): Buffer {
  return element(0x03, Buffer.from([unused]), bytes)
}

/** `1.2.840.10045.4.3.2` */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** Wraps what stands there only sometimes. */
export function explicit(tag: number, ...parts: readonly Buffer[]): Buffer {
  return element(0xa0 | tag, ...parts)
}

/** Stands in place of the element's own type. */
export function implicit(tag: number, bytes: Buffer): Buffer {
  return element(0x80 | tag, bytes)
}

function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content])
}

function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff]
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

function base128(value: number): number[] {
  const digits = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80)
  return digits
}
