/** The cases of image-tags.json: tags by the convention of SQR-059, as its present users read them. */
import { readFileSync } from 'node:fs'
import type { Config } from '../../config/schema.ts'
import type { TagType } from '../catalogue/tags.ts'

export interface ParseCase {
  readonly input: string
  readonly tag: string
  readonly type: TagType
  readonly display_name: string
  readonly version: string | null
  readonly semantic: boolean
  readonly date: string | null
  readonly base: string | null
  readonly cycle: number | null
  readonly cycle_build: number | null
  readonly build: number | null
  readonly architecture: string | null
  readonly extra: string | null
}

interface Tags {
  readonly input_tags: readonly string[]
  readonly aliases: readonly string[]
}

export interface CollectionCase extends Tags {
  readonly name: string
  readonly cycle: number | null
  readonly hide_arch_specific: boolean
  readonly expected_order: readonly string[]
}

export interface SubsetCase extends Tags {
  readonly args: {
    readonly releases?: number
    readonly weeklies?: number
    readonly dailies?: number
    /** Missing is true. */
    readonly remove_arch_specific?: boolean
    readonly include: readonly string[]
  }
  readonly expected: readonly string[]
}

export interface FilterCase extends Tags {
  readonly policy: Config['images']['menu']
  readonly age_basis: string | null
  /** Whether `expected` lists the tags that are not offered. */
  readonly invert: boolean
  readonly remove_arch_specific: boolean
  readonly expected: readonly string[]
}

interface CaseImage {
  readonly tag: string
  readonly digest: string
  readonly constructed_as_alias: boolean
}

export interface AliasCase {
  readonly name: string
  readonly images: readonly CaseImage[]
  readonly then_add: readonly CaseImage[]
  readonly expected: Readonly<Record<string, object>>
  readonly by_digest: Readonly<Record<string, string>>
  readonly all_images: readonly string[]
  readonly all_images_with_arch: readonly string[]
  /** Without images that an alias in the list names. */
  readonly hide_aliased: readonly string[]
  readonly hide_resolved_aliases: readonly string[]
}

interface Cases {
  readonly parse: readonly ParseCase[]
  readonly ordering: {
    readonly ascending_pairs: readonly { readonly lower: string; readonly higher: string }[]
    readonly incomparable: readonly { readonly a: string; readonly b: string }[]
    readonly ascending_same_type: readonly string[]
    readonly collections: readonly CollectionCase[]
  }
  readonly subset: readonly SubsetCase[]
  readonly filter: readonly FilterCase[]
  readonly alias_resolution: readonly AliasCase[]
}

export const cases: Cases = JSON.parse(readFileSync(new URL('./image-tags.json', import.meta.url), 'utf8'))
