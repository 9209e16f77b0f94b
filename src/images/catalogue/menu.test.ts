import { describe, expect, it } from 'vitest'
import { cases } from '../testing/cases.ts'
import { offered } from './menu.ts'
import { compareTags, parseTag, readTag } from './tags.ts'

const nowMs = Date.parse('2025-02-19T17:00:00Z')

const read = (tags: readonly string[]) => tags.map(parseTag).sort(compareTags)
const tagsOf = (images: readonly { tag: string }[]) => images.map(({ tag }) => tag)

describe('the menu', () => {
  it.each(cases.filter)('%#', each => {
    const aliases = new Set(each.aliases)
    const all = each.input_tags.map(tag => readTag(tag, aliases)).sort(compareTags)
    const shown = all.filter(({ architecture }) => !each.remove_arch_specific || architecture === null)
    const menu = offered(shown, each.policy, each.age_basis === null ? nowMs : Date.parse(each.age_basis))
    expect(tagsOf(each.invert ? shown.filter(image => !menu.includes(image)) : menu)).toEqual(each.expected)
  })

  it('contains all images by default', () => {
    const all = read(['r1_0_0', 'r1_0_0_rc1', 'w_1999_1', 'd_1999_01_01', 'exp_x', 'x'])
    expect(offered(all, {}, nowMs)).toEqual(all)
  })
})

describe('offered with a condition', () => {
  it.each([
    ['41h', 'd_2025_02_18', 'd_2025_02_17'],
    ['40h', 'd_2025_02_19', 'd_2025_02_18'],
    ['1d', 'd_2025_02_19', 'd_2025_02_18'],
    ['2d', 'd_2025_02_18', 'd_2025_02_17'],
    ['1w', 'd_2025_02_13', 'd_2025_02_12'],
    ['1m', 'd_2025_01_21', 'd_2025_01_20'],
    ['1y', 'd_2024_02_21', 'd_2024_02_20'],
  ])('on the age %s accepts %s, not %s', (age, younger, older) => {
    expect(tagsOf(offered(read([younger, older]), { daily: { age } }, nowMs))).toEqual([younger])
  })

  it('on a date accepts an image of this time', () => {
    const images = read(['d_2025_02_18', 'd_2025_02_19'])
    const since = (cutoffDate: string) => tagsOf(offered(images, { daily: { cutoffDate } }, nowMs))
    expect(since('2025-02-19T00:00:00Z')).toEqual(['d_2025_02_19'])
    expect(since('2025-02-19T01:00:00+01:00')).toEqual(['d_2025_02_19'])
    expect(since('2025-02-19T00:00:01Z')).toEqual([])
  })

  it('on a version or build accepts both bounds', () => {
    const images = read(['r27_0_0', 'r26_9_9', 'r28_0_0_rsp5', 'r28_0_0_rsp4'])
    const menu = { release: { cutoffVersion: '27.0.0', cutoffBuild: 5 } }
    expect(tagsOf(offered(images, menu, nowMs))).toEqual(['r28_0_0_rsp5', 'r27_0_0'])
  })

  it('on a version may name a release candidate', () => {
    const images = read(['r27_0_0_rc10', 'r27_0_0_rc2', 'r27_0_0_rc1', 'r27_0_1_rc1'])
    const menu = { releaseCandidate: { cutoffVersion: '27.0.0-rc2' } }
    expect(tagsOf(offered(images, menu, nowMs))).toEqual(['r27_0_1_rc1', 'r27_0_0_rc10', 'r27_0_0_rc2'])
  })

  it('does not apply to images without the property', () => {
    const images = read(['exp_mine', 'exp_w_2025_07', 'exp_r20_0_0'])
    const menu = {
      experimental: { age: '1y', cutoffDate: '2024-01-01T00:00:00Z', cutoffVersion: '3000.0.0', cutoffBuild: 9 },
    }
    expect(tagsOf(offered(images, menu, nowMs))).toEqual(['exp_mine', 'exp_w_2025_07'])
  })

  it('on a number counts only images that meet the other conditions', () => {
    const images = read(['r28_0_0_rsp1', 'r27_0_0', 'r26_0_0', 'r25_0_0'])
    const menu = { release: { number: 2, cutoffBuild: 5 } }
    expect(tagsOf(offered(images, menu, nowMs))).toEqual(['r27_0_0', 'r26_0_0'])
    expect(offered(images, { release: { number: 0 } }, nowMs)).toEqual([])
  })
})
