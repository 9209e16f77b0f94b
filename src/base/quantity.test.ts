import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatBytes, formatCpu, parseQuantity } from './quantity.ts'

const powers: Record<string, [numerator: bigint, denominator: bigint]> = {
  n: [1n, 10n ** 9n],
  u: [1n, 10n ** 6n],
  m: [1n, 1000n],
  '': [1n, 1n],
  k: [10n ** 3n, 1n],
  M: [10n ** 6n, 1n],
  G: [10n ** 9n, 1n],
  T: [10n ** 12n, 1n],
  P: [10n ** 15n, 1n],
  E: [10n ** 18n, 1n],
  Ki: [1n << 10n, 1n],
  Mi: [1n << 20n, 1n],
  Gi: [1n << 30n, 1n],
  Ti: [1n << 40n, 1n],
  Pi: [1n << 50n, 1n],
  Ei: [1n << 60n, 1n],
}

describe('parseQuantity', () => {
  test.each([
    ['1.5Gi', 1_610_612_736],
    ['12e6', 12_000_000],
    ['4500m', 4.5],
    ['134217728k', 134_217_728_000],
    ['1e3', 1000],
    ['1E3', 1000],
    ['1E', 1e18],
    ['2Ei', 2 * 2 ** 60],
    ['100n', 1e-7],
    ['250u', 0.00025],
    ['0.1', 0.1],
    ['.5', 0.5],
    ['5.', 5],
    ['+3k', 3000],
    ['-1Ki', -1024],
    ['1e-3', 0.001],
    ['0', 0],
    ['-0', 0],
    ['007', 7],
  ])('reads %s as %d', (text, value) => {
    expect(parseQuantity(text)).toBe(value)
  })

  test('returns a number unchanged', () => {
    expect(parseQuantity(0.25)).toBe(0.25)
    expect(parseQuantity(4_294_967_296)).toBe(4_294_967_296)
    expect(parseQuantity(1e21)).toBe(1e21)
  })

  test.each([
    '',
    ' ',
    '1 Gi',
    'Gi',
    '.',
    '1.5.5',
    '1ki',
    '1K',
    '1GiB',
    '4GB',
    '1e',
    '1e3Ki',
    '1e3m',
    '0x10',
    '--1',
    '1,5',
    '１',
    'NaN',
    'Infinity',
  ])('refuses "%s" with a reason', text => {
    expect(() => parseQuantity(text)).toThrow(`"${text}" is not a Kubernetes quantity`)
  })

  test('refuses NaN and infinity', () => {
    expect(() => parseQuantity(Number.NaN)).toThrow('"NaN" is not a Kubernetes quantity')
  })

  test('refuses a quantity that no number can hold', () => {
    expect(() => parseQuantity('1e999')).toThrow('too large')
    expect(() => parseQuantity(`${'9'.repeat(400)}`)).toThrow('too large')
  })

  test('returns the nearest double to the exact value', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 17n })
    fc.assert(
      fc.property(digits, fc.nat(12), fc.constantFrom(...Object.keys(powers)), (mantissa, places, suffix) => {
        const text = String(mantissa).padStart(places + 1, '0')
        const written = places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`
        const [numerator, denominator] = powers[suffix]!
        // JSON's own reader rounds a decimal numeral correctly, so the exact value is written out as one.
        const exact = exactDecimal(mantissa * numerator, denominator * 10n ** BigInt(places))
        expect(parseQuantity(written + suffix)).toBe(JSON.parse(exact))
      }),
    )
  })
})

/** A fraction whose denominator is a power of ten, written as a decimal. */
function exactDecimal(numerator: bigint, denominator: bigint): string {
  const places = String(denominator).length - 1
  return `${numerator}e-${places}`
}

describe('formatCpu', () => {
  test.each([
    [0, '0'],
    [0.25, '250m'],
    [1.1, '1100m'],
    [0.0001, '1m'],
    [1.5, '1500m'],
    [2, '2'],
    [1000, '1k'],
  ])('writes %d as %s', (cpus, text) => {
    expect(formatCpu(cpus)).toBe(text)
  })

  test('writes thousandths that parseQuantity reads back', () => {
    fc.assert(
      fc.property(fc.nat(10_000_000), milli => {
        expect(parseQuantity(formatCpu(milli / 1000))).toBe(milli / 1000)
      }),
    )
  })
})

describe('formatBytes', () => {
  test.each([
    [0, '0'],
    [4_294_967_296, '4Gi'],
    [1_610_612_736, '1536Mi'],
    [1024, '1Ki'],
    [1000, '1k'],
    [1500, '1500'],
    [1_024_000, '1000Ki'],
    [2_000_001, '2000001'],
    [0.5, '1'],
    [2 ** 60, '1Ei'],
  ])('writes %d as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  test('writes every whole number in the shortest form that parseQuantity reads back', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), bytes => {
        const text = formatBytes(bytes)
        expect(parseQuantity(text)).toBe(bytes)
        expect(formatBytes(parseQuantity(text))).toBe(text)
      }),
    )
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('refuses %d', value => {
    expect(() => formatBytes(value)).toThrow('not an amount')
    expect(() => formatCpu(value)).toThrow('not an amount')
  })
})
