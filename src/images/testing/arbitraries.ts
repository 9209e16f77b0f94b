/** Random tags: some follow the convention, some nearly do, some do not. */
import fc from 'fast-check'

const numbers = fc.oneof(fc.nat({ max: 12 }), fc.nat({ max: 999_999_999 })).map(String)
const padded = fc.tuple(numbers, fc.nat({ max: 4 })).map(([digits, length]) => digits.padStart(length, '0'))
const years = fc.integer({ min: 2015, max: 2035 })
const heads = fc.oneof(
  fc.tuple(padded, padded, padded).map(parts => `r${parts.join('_')}`),
  fc.tuple(padded, padded, padded, padded).map(([a, b, c, candidate]) => `r${a}_${b}_${c}_rc${candidate}`),
  fc.stringMatching(/^r\d{3}$/),
  fc.tuple(years, padded).map(([year, week]) => `w_${year}_${week}`),
  fc.tuple(years, padded, padded).map(([year, month, day]) => `d_${year}_${month}_${day}`),
  fc.constantFrom('latest', 'recommended', 'latest_weekly', 'sha256', ''),
)
const suffix = (form: RegExp) => fc.oneof(fc.constant(''), fc.stringMatching(form))

const byConvention = fc
  .tuple(
    fc.constantFrom('', '', '', 'exp_', 'exp_exp_'),
    heads,
    suffix(/^_c\d{4}(\.\d{3})?$/),
    suffix(/^_rsp\d{1,4}$/),
    suffix(/^_[a-z0-9_.]{1,8}$/),
    suffix(/^-(amd64|arm64|v7)$/),
  )
  .map(parts => parts.join(''))

/** Tags that a registry may list. */
export const plainTags = fc.oneof(
  byConvention.filter(tag => /^[A-Za-z0-9_]/.test(tag)),
  fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/),
)

/** Any text. */
export const anyTags = fc.oneof(byConvention, plainTags, fc.string({ unit: 'binary' }), fc.string())
