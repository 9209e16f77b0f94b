/** Kubernetes quantities to numbers and back. Pure. Resources (CPUs, memory) of SQR-066 are written in them. */

const pattern = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,4})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)$/

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const binarySuffixes = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const decimalSuffixes = ['k', 'M', 'G', 'T', 'P', 'E']

/**
 * The value of a quantity as a plain number: CPUs of `4500m` are 4.5, bytes of `1.5Gi` 1610612736. A number passes as it
 * is. The result is the nearest double, which is exact for every whole number below 2^53.
 * @throws {RangeError} in words, when the text is no quantity or its value too large to hold
 */
export function parseQuantity(quantity: string | number): number {
  const text = String(quantity)
  const match = pattern.exec(text)
  if (!match) throw new RangeError(`"${text}" is not a Kubernetes quantity such as 250m, 2, 1.5Gi or 12e6`)
  const [, sign, whole = '', tail, bare, exponent, suffix = ''] = match
  const fraction = tail ?? bare ?? ''
  const binary = binarySuffixes.indexOf(suffix) + 1
  const shift = exponent !== undefined ? Number(exponent) : (decimalExponents[suffix] ?? 0)
  const value =
    binary > 0 ? scaleBinary(whole, fraction, binary) : Number(`${whole || '0'}.${fraction || '0'}e${shift}`)
  if (!Number.isFinite(value)) throw new RangeError(`"${text}" is too large a quantity`)
  return sign === '-' && value !== 0 ? -value : value
}

/** The digits are counted as an integer first: rounding twice could miss the nearest double. */
function scaleBinary(whole: string, fraction: string, power: number): number {
  const scaled = BigInt(whole + fraction || '0') << BigInt(10 * power)
  return Number(`${scaled}e-${fraction.length}`)
}

/**
 * CPUs as the API server writes them: `250m`, `2`, `1500m`. Rounded up to thousandths, the finest share that exists.
 * @throws {RangeError} when negative or not finite
 */
export function formatCpu(cpus: number): string {
  // A product like 1.1 * 1000 lies a hair above the whole number that is meant.
  const milli = Math.ceil(Number((checked(cpus) * 1000).toPrecision(15)))
  return milli % 1000 === 0 ? decimal(milli / 1000) : `${milli}m`
}

/**
 * Bytes as the API server writes them: `4Gi`, `1536Mi`; what is no multiple of 1024 in powers of ten (`1500`, `2M`).
 * Rounded up to whole bytes.
 * @throws {RangeError} when negative or not finite
 */
export function formatBytes(bytes: number): string {
  const whole = Math.ceil(checked(bytes))
  return whole > 0 && whole % 1024 === 0 ? reduced(whole, 1024, binarySuffixes) : decimal(whole)
}

function decimal(whole: number): string {
  return reduced(whole, 1000, decimalSuffixes)
}

/** Divides while nothing is lost, and names the power. */
function reduced(whole: number, base: number, suffixes: readonly string[]): string {
  let rest = BigInt(whole)
  let power = 0
  while (rest > 0n && rest % BigInt(base) === 0n && power < suffixes.length) {
    rest /= BigInt(base)
    power += 1
  }
  return `${rest}${suffixes[power - 1] ?? ''}`
}

function checked(value: number): number {
  if (!Number.isFinite(value) || value < 0) throw new RangeError(`${value} is not an amount of a resource`)
  return value
}
