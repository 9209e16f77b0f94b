import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainTags } from '../testing/arbitraries.ts'
import { cases } from '../testing/cases.ts'
import type { TaggedImage } from './collection.ts'
import {
  distinct,
  latestOf,
  relate,
  resolveImages,
  withoutArchitectures,
  withoutResolvedAliases,
} from './collection.ts'

const tagsOf = (images: readonly TaggedImage[]) => images.map(({ tag }) => tag)

/** Tags as a registry without digests in its list returns them. */
const read = (tags: readonly string[], aliases: readonly string[] = []) =>
  resolveImages(
    tags.map(tag => ({ tag })),
    new Set(aliases),
  )

describe('the order of all tags', () => {
  it.each(cases.ordering.collections)('$name', each => {
    const all = read(each.input_tags, each.aliases).filter(({ cycle }) => each.cycle === null || cycle === each.cycle)
    expect(tagsOf(each.hide_arch_specific ? withoutArchitectures(all) : all)).toEqual(each.expected_order)
  })
})

describe('latestOf', () => {
  it.each(cases.subset)('$args', ({ input_tags, aliases, args, expected }) => {
    const all = read(input_tags, aliases)
    const shown = args.remove_arch_specific === false ? all : withoutArchitectures(all)
    const numbers = { Release: args.releases ?? 0, Weekly: args.weeklies ?? 0, Daily: args.dailies ?? 0 }
    const chosen = new Set([...args.include, ...tagsOf(latestOf(shown, numbers))])
    expect(tagsOf(shown.filter(({ tag }) => chosen.has(tag)))).toEqual(expected)
  })

  it('returns none of a type without a number', () => {
    expect(latestOf(read(['w_2021_1', 'd_2021_01_01']), { Daily: 0 })).toEqual([])
  })
})

describe('resolveImages', () => {
  it.each(cases.alias_resolution)('$name', each => {
    const entries = [...each.images, ...each.then_add]
    const aliases = new Set(entries.filter(entry => entry.constructed_as_alias).map(({ tag }) => tag))
    const all = relate([...resolveImages(each.images, aliases), ...resolveImages(each.then_add, aliases)])
    const shown = withoutArchitectures(all)
    const fields = all.map(image => [image.tag, fieldsOf(image)] as const)
    expect(Object.fromEntries(fields)).toEqual(each.expected)
    expect(targetsOf(all)).toEqual(each.by_digest)
    expect(tagsOf(all)).toEqual(each.all_images_with_arch)
    expect(tagsOf(shown)).toEqual(each.all_images)
    expect(tagsOf(withoutResolvedAliases(shown))).toEqual(each.hide_resolved_aliases)
    const aliased = new Set(shown.map(({ aliasTarget }) => aliasTarget))
    expect(tagsOf(shown.filter(({ tag }) => !aliased.has(tag)))).toEqual(each.hide_aliased)
  })

  it('keeps tags without a known digest apart', () => {
    for (const image of read(['recommended', 'w_2021_1', 'latest'], ['recommended'])) {
      expect(image).toMatchObject({ digest: null, aliases: [], aliasTarget: null })
    }
  })

  it('relates aliases to each other when they have no image', () => {
    const entries = ['recommended', 'mine'].map(tag => ({ tag, digest: 'sha256:a' }))
    const [recommended, mine] = resolveImages(entries, new Set(['recommended']))
    expect(recommended).toMatchObject({ type: 'Alias', displayName: 'Recommended', aliases: ['mine'] })
    expect(mine).toMatchObject({ type: 'Unknown', displayName: 'mine', aliases: ['recommended'], aliasTarget: null })
  })

  it('keeps digest and size as they were listed', () => {
    const [image, other] = resolveImages([{ tag: 'w_2', digest: 'sha256:a', sizeBytes: 7 }, { tag: 'w_1' }], new Set())
    expect(image).toMatchObject({ digest: 'sha256:a', sizeBytes: 7 })
    expect(other).not.toHaveProperty('sizeBytes')
  })

  it('names a few of very many tags of one digest', () => {
    const entries = Array.from({ length: 20_000 }, (_, i) => ({ tag: `exp_${i}`, digest: 'sha256:a' }))
    const images = resolveImages([...entries, { tag: 'latest', digest: 'sha256:a' }], new Set(['latest']))
    expect(images.length).toBe(20_001)
    for (const { tag, aliases, aliasTarget } of images) {
      if (aliases.length !== 16 || aliases.includes(tag) || aliases.includes(aliasTarget ?? '')) expect.fail(tag)
    }
    expect(images[0]!.aliasTarget).toBe(images[1]!.tag)
  })

  it('returns the same whatever the order of tags, and however often they are related', () => {
    const digests = fc.constantFrom('sha256:a', 'sha256:b', 'sha256:c')
    const entries = fc.record({ tag: plainTags, digest: digests })
    const lists = fc.uniqueArray(entries, { selector: ({ tag }) => tag, maxLength: 30 })
    const shuffled = lists.chain(list =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
    )
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        const aliases = new Set(list.slice(0, 2).map(({ tag }) => tag))
        expect(resolveImages(other, aliases)).toEqual(resolveImages(list, aliases))
        expect(relate(resolveImages(list, aliases))).toEqual(resolveImages(list, aliases))
      }),
    )
  })
})

describe('withoutResolvedAliases', () => {
  const entries = ['recommended', 'w_2021_1'].map(tag => ({ tag, digest: 'sha256:a' }))
  const all = resolveImages(entries, new Set(['recommended']))

  it('leaves an alias out when its image is listed, and keeps it otherwise', () => {
    expect(tagsOf(withoutResolvedAliases(all))).toEqual(['w_2021_1'])
    expect(tagsOf(withoutResolvedAliases(all.slice(0, 1)))).toEqual(['recommended'])
  })
})

describe('distinct', () => {
  it('keeps the first tag of each digest, and each tag without one', () => {
    const known = ['recommended', 'w_2021_1', 'w_2021_2'].map(tag => ({ tag, digest: 'sha256:a' }))
    const images = resolveImages([...known, { tag: 'd_2021_01_01' }, { tag: 'd_2021_01_02' }], new Set(['recommended']))
    expect(tagsOf(distinct([...images, ...images]))).toEqual(['recommended', 'd_2021_01_02', 'd_2021_01_01'])
  })
})

function fieldsOf({ tag, type, displayName, aliasTarget, aliases, cycle, architecture, dateMs }: TaggedImage) {
  const date = dateMs === null ? null : new Date(dateMs).toISOString().slice(0, 10)
  return { tag, type, display_name: displayName, alias_target: aliasTarget, aliases, cycle, architecture, date }
}

/** For each digest, the first tag that is not an alias. */
function targetsOf(images: readonly TaggedImage[]) {
  const own = images.filter(({ aliasTarget }) => aliasTarget === null)
  return Object.fromEntries(own.toReversed().map(({ tag, digest }) => [digest, tag]))
}
