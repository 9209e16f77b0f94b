import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyTags } from '../testing/arbitraries.ts'
import type { ParseCase } from '../testing/cases.ts'
import { cases } from '../testing/cases.ts'
import { compareTags, parseAlias, parseTag, readTag, resolveAlias, tagTypes } from './tags.ts'
import { formatVersion } from './version.ts'

const dayMs = 86_400_000

function fieldsOf(input: string, alias = false): ParseCase {
  const {
    displayName,
    title: _title,
    version,
    dateMs,
    cycleBuild,
    ...same
  } = alias ? parseAlias(input) : parseTag(input)
  return {
    input,
    ...same,
    display_name: displayName,
    version: version && formatVersion(version),
    date: dateMs === null ? null : new Date(dateMs).toISOString().slice(0, 10),
    cycle_build: cycleBuild,
  }
}

/** Below zero if the one tag is before the other. */
const compare = (one: string, other: string) => compareTags(parseTag(one), parseTag(other))

describe('parseTag', () => {
  // Every object has a constructor, so only an own property of the case counts.
  it.each(cases.parse.map(each => ({ each, alias: Object.hasOwn(each, 'constructor') })))(
    'reads $each.input (alias: $alias)',
    ({ each, alias }) => {
      const { constructor: _constructor, ...fields } = each as ParseCase & { constructor: unknown }
      expect(fieldsOf(each.input, alias)).toEqual(fields)
    },
  )

  it.each([
    ['w_2021_53', 'a week that the year does not have'],
    ['d_2021_02_30', 'a day that the month does not have'],
    ['d_2021_00_10', 'no month'],
    ['d_2023_02_29', 'no leap year'],
    ['r1234567890_0_0', 'a number too large for a double'],
    ['exp_', 'no experiment'],
    ['w_2021_22-', 'an architecture without name'],
    ['w_2021_22-AMD64', 'a suffix in capitals'],
    ['w_2021_22-Arm64', 'a suffix with a capital'],
    ['w_2021_22_c0020.001_rsp19_random-AMD64', 'a suffix in capitals behind all parts'],
    ['r21_0_1_rc1-ARM64', 'a suffix in capitals behind a candidate'],
    ['exp_w_2021_22-AMD64', 'a suffix in capitals behind an experiment'],
    ['recommended_c0027-AMD64', 'a suffix in capitals behind a cycle'],
    ['w_2021_22_random\n', 'a line break'],
  ])('reads %j as unknown: %s', tag => {
    expect(parseTag(tag)).toMatchObject({ type: 'Unknown', displayName: tag, base: tag, version: null, dateMs: null })
  })

  it('reads a suffix with capitals as part of an unknown tag', () => {
    expect(parseTag('w_2021_22_DM-1234-amd64')).toMatchObject({ type: 'Weekly', architecture: 'amd64' })
    expect(parseTag('w_2021_22_DM-amd64').displayName).toBe('Weekly 2021_22 [DM] [amd64]')
  })

  it.each([
    ['w_2021_22_c20.1', 'Weekly 2021_22 (SAL Cycle 20, Build 1)'],
    ['w_2021_22_c0020.001', 'Weekly 2021_22 (SAL Cycle 0020, Build 001)'],
    ['w_2021_22_c000020.00001_rsp0019', 'Weekly 2021_22 (SAL Cycle 000020, Build 00001) (RSP Build 0019)'],
    ['d_2021_05_27_rsp007-arm64', 'Daily 2021_05_27 (RSP Build 007) [arm64]'],
    ['exp_random_c7.02', 'Experimental random (SAL Cycle 7, Build 02)'],
    ['recommended_c27', 'recommended (SAL Cycle 27)'],
  ])('shows the numbers of %s with the tag’s digits', (tag, displayName) => {
    expect(parseTag(tag).displayName).toBe(displayName)
  })

  it('shows every number with the tag’s digits, and reads its value', () => {
    const digits = fc.stringMatching(/^\d{1,9}$/)
    fc.assert(
      fc.property(digits, digits, digits, (cycle, cycleBuild, build) => {
        expect(parseTag(`w_2021_22_c${cycle}.${cycleBuild}_rsp${build}`)).toMatchObject({
          displayName: `Weekly 2021_22 (SAL Cycle ${cycle}, Build ${cycleBuild}) (RSP Build ${build})`,
          ...{ cycle: Number(cycle), cycleBuild: Number(cycleBuild), build: Number(build) },
        })
      }),
    )
  })

  it('reads a number that is too large for a double as extra text', () => {
    expect(parseTag('w_2021_22_rsp1234567890')).toMatchObject({ type: 'Weekly', build: null, extra: 'rsp1234567890' })
  })

  it('marks an experiment of an experiment twice', () => {
    expect(parseTag('exp_exp_w_2021_22').displayName).toBe('Experimental Experimental Weekly 2021_22')
  })

  it('reads cycle and build after an unknown name too', () => {
    expect(parseTag('exp_random_c0027.003')).toMatchObject({
      displayName: 'Experimental random (SAL Cycle 0027, Build 003)',
      base: 'random',
      cycle: 27,
      cycleBuild: 3,
    })
  })

  it('returns a display name for every tag', () => {
    fc.assert(
      fc.property(anyTags, tag => {
        const read = parseTag(tag)
        expect(read.displayName).not.toBe('')
        expect(read.tag).toBe(tag === '' ? 'latest' : tag)
        expect(tagTypes).toContain(read.type)
        expect(read.version === null).toBe(read.base !== null)
        for (const value of [read.cycle, read.cycleBuild, read.build])
          expect(value ?? 0).toSatisfy(Number.isSafeInteger)
      }),
      { numRuns: 2000 },
    )
  })

  it('reads the parts that a tag was made of', () => {
    const numbers = fc.nat({ max: 999_999_999 })
    const parts = fc.record({
      head: fc.constantFrom('r21_0_1', 'r22_0_0_rc1', 'w_2021_22', 'd_2021_05_27'),
      cycle: fc.option(fc.record({ cycle: numbers, cycleBuild: numbers })),
      build: fc.option(numbers),
      extra: fc.option(fc.stringMatching(/^[abd-z][a-z0-9_]{0,9}$/).filter(text => !/^r(sp|c)/.test(text))),
      architecture: fc.option(fc.stringMatching(/^[a-z0-9_.]{1,9}$/)),
    })
    fc.assert(
      fc.property(parts, ({ head, cycle, build, extra, architecture }) => {
        const ofCycle = cycle ? `_c${cycle.cycle}.${cycle.cycleBuild}` : ''
        const tag = `${head}${ofCycle}${build === null ? '' : `_rsp${build}`}${extra === null ? '' : `_${extra}`}`
        expect(parseTag(architecture === null ? tag : `${tag}-${architecture}`)).toMatchObject({
          ...(cycle ?? { cycle: null, cycleBuild: null }),
          build,
          extra,
          architecture,
          version: parseTag(head).version,
        })
      }),
    )
  })

  it('dates a weekly on the Thursday of its ISO week', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9999 }), fc.integer({ min: 0, max: 60 }), (year, week) => {
        const text = String(year).padStart(4, '0')
        const { type, dateMs } = parseTag(`w_${text}_${week}`)
        if (dateMs === null) {
          // A year has 53 weeks if it begins or ends on a Thursday.
          const ends = [`${text}-01-01`, `${text}-12-31`].map(day => new Date(day).getUTCDay())
          expect(type).toBe('Unknown')
          expect(week === 0 || week > (ends.includes(4) ? 53 : 52)).toBe(true)
          return
        }
        const dayOfYear = (dateMs - Date.parse(`${text}-01-01`)) / dayMs
        expect(new Date(dateMs).getUTCDay()).toBe(4)
        // The first week contains the year's first Thursday.
        expect(Math.floor(dayOfYear / 7) + 1).toBe(week)
        expect(new Date(dateMs).getUTCFullYear()).toBe(year)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('compareTags', () => {
  it.each(cases.ordering.ascending_pairs)('puts $higher before $lower', ({ lower, higher }) => {
    expect(compare(higher, lower)).toBeLessThan(0)
    expect(compare(lower, higher)).toBeGreaterThan(0)
  })

  it.each(cases.ordering.incomparable)('distinguishes $a and $b', ({ a, b }) => {
    expect(parseTag(a).type).not.toBe(parseTag(b).type)
    expect(compare(a, b)).not.toBe(0)
  })

  it('orders builds, cycles, extras and architectures', () => {
    const ascending = cases.ordering.ascending_same_type
    expect(
      ascending
        .map(parseTag)
        .sort(compareTags)
        .map(({ tag }) => tag),
    ).toEqual(ascending.toReversed())
  })

  it('orders release candidates by number', () => {
    const tags = ['r9_0_0_rc10', 'r9_0_0_rc9', 'r9_0_0_rc2', 'r9_0_0_rc1', 'r8_0_0_rc11']
    expect(
      tags
        .toSorted()
        .map(parseTag)
        .sort(compareTags)
        .map(({ tag }) => tag),
    ).toEqual(tags)
  })

  it('orders equivalent tags by their text', () => {
    expect(compare('w_2021_01', 'w_2021_1')).toBeLessThan(0)
    expect(compare('w_2021_1', 'w_2021_01')).toBeGreaterThan(0)
    expect(compare('exp_exp_w_2021_22', 'exp_w_2021_22')).toBeLessThan(0)
  })

  it('is a total order', () => {
    const parsed = anyTags.map(parseTag)
    fc.assert(
      fc.property(parsed, parsed, parsed, (a, b, c) => {
        expect(Math.sign(compareTags(a, b))).toBe(-Math.sign(compareTags(b, a)) + 0)
        expect(compareTags(a, b) === 0).toBe(a.tag === b.tag)
        const [x, y, z] = [a, b, c].sort(compareTags)
        expect(compareTags(x!, y!)).toBeLessThanOrEqual(0)
        expect(compareTags(y!, z!)).toBeLessThanOrEqual(0)
        expect(compareTags(x!, z!)).toBeLessThanOrEqual(0)
      }),
      { numRuns: 5000 },
    )
  })

  it('returns one order for any shuffled list', () => {
    const lists = fc.uniqueArray(anyTags, { minLength: 2, maxLength: 40 })
    const shuffled = lists.chain(tags =>
      fc.tuple(fc.constant(tags), fc.shuffledSubarray(tags, { minLength: tags.length, maxLength: tags.length })),
    )
    fc.assert(
      fc.property(shuffled, ([tags, others]) => {
        const [list, other] = [tags, others].map(each =>
          each
            .map(parseTag)
            .sort(compareTags)
            .map(({ tag }) => tag),
        )
        expect(other).toEqual(list)
      }),
    )
  })
})

describe('aliases', () => {
  it('are read as aliases when they are known to be', () => {
    const aliases = new Set(['w_2021_22'])
    expect(readTag('w_2021_22', aliases)).toMatchObject({ type: 'Alias', displayName: 'W 2021 22', dateMs: null })
    expect(readTag('w_2021_21', aliases).type).toBe('Weekly')
  })

  it.each([
    ['w_2026_30_c26.1', 'Recommended (Weekly 2026_30, SAL Cycle 26, Build 1)'],
    [
      'exp_w_2026_30_c0026.01_rsp07',
      'Recommended (Experimental Weekly 2026_30, SAL Cycle 0026, Build 01, RSP Build 07)',
    ],
  ])('show %s with its digits', (target, displayName) => {
    expect(resolveAlias(parseAlias('recommended'), parseTag(target)).displayName).toBe(displayName)
  })

  it('have a display name, whatever they refer to', () => {
    fc.assert(
      fc.property(anyTags.filter(Boolean), anyTags, (tag, other) => {
        const alias = parseAlias(tag)
        const target = parseTag(other)
        const resolved = resolveAlias(alias, target)
        expect(alias.displayName).not.toBe('')
        expect(resolved).toMatchObject({ tag, type: 'Alias', cycle: target.cycle, dateMs: target.dateMs })
        expect(resolved.displayName).toContain(`(${target.title}`)
        expect(resolved.architecture).toBe(alias.architecture ?? target.architecture)
      }),
    )
  })
})
