/** Converts Kubernetes quantities to numbers and back. Resources (CPUs, memory) of SQR-066 use them. Pure. */

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
 * The value of a quantity as a plain number: CPUs of `4500m` are 4.5, bytes of `1.5Gi` 1610612736. A number is returned
 * unchanged. The result is the nearest double, which is exact for every whole number below 2^53.
 * @throws {RangeError} with a reason, when the text is not a quantity or its value is too large
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

/** Computes with integers first: rounding twice could miss the nearest double. */
function scaleBinary(whole: string, fraction: string, power: number): number {
  const scaled = BigInt(whole + fraction || '0') << BigInt(10 * power)
  return Number(`${scaled}e-${fraction.length}`)
}

/**
 * CPUs as the API server writes them: `250m`, `2`, `1500m`. Rounded up to thousandths, the finest share that exists.
 * @throws {RangeError} when negative or not finite
 */
export function formatCpu(cpus: number): string {
  // A product like 1.1 * 1000 is slightly above the intended whole number.
  const milli = Math.ceil(Number((checked(cpus) * 1000).toPrecision(15)))
  return milli % 1000 === 0 ? decimal(milli / 1000) : `${milli}m`
}

/**
 * Bytes as the API server writes them: `4Gi`, `1536Mi`; other than multiples of 1024 in powers of ten (`1500`, `2M`).
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
