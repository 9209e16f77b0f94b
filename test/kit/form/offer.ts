/** Images, sizes and an offer, for tests and for the picture in the docs. */

import type { Identity } from '../../../src/base/domain.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { Catalogue, CatalogueImage } from '../../../src/images/catalogue/types.ts'

const repository = 'registry.hub.docker.com/lsstsqre/sciplat-lab'

/** @param change the name, and fields that do not follow from the tag */
export function exampleImage(tag: string, change: Partial<CatalogueImage> = {}): CatalogueImage {
  return { reference: `${repository}:${tag}`, tag, aliases: [], name: nameOf(tag), digest: null, ...change }
}

/** The catalogue makes the images' names; these are in its form. */
function nameOf(tag: string): string {
  return tag.replace(/^w_/, 'Weekly ').replace(/^d_/, 'Daily ').replace(/^exp_/, 'Experimental ')
}

/** The tags of weeklies, the latest first. */
export function weeklies(count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const week = 2000 * 52 + count - i
    return `w_${Math.floor(week / 52)}_${String((week % 52) + 1).padStart(2, '0')}`
  })
}

const recommended = exampleImage('recommended', {
  name: 'Recommended (Weekly 2026_28)',
  aliases: ['w_2026_28', 'latest_weekly'],
})
const release = exampleImage('r29_1_1', { name: 'Release 29.1.1' })
const weekly = exampleImage('w_2026_27')
const dailies = ['d_2026_07_14', 'd_2026_07_13', 'd_2026_07_12'].map(tag => exampleImage(tag))
const older = ['r29_0_0', 'w_2026_26', 'w_2026_25', 'exp_w_2026_25_nosudo'].map(tag => exampleImage(tag))

export const exampleCatalogue: Catalogue = {
  types: { recommended, 'latest-weekly': weekly, 'latest-daily': dailies[0]!, 'latest-release': release },
  prepull: [recommended, release, weekly, ...dailies],
  menu: [recommended, release, weekly, ...dailies, ...older],
  all: [recommended, release, weekly, ...dailies, ...older],
  readAtMs: 0,
}

/** All nodes have these. The latest daily is still being pulled. */
export const examplePrepulled: ReadonlySet<string> = new Set(
  [recommended, release, weekly, dailies[1]!].map(({ reference }) => reference),
)

/** A user without quota and groups. */
export const exampleCaller: Identity = {
  username: 'ada',
  token: 'ada-token',
  scopes: ['exec:notebook'],
  uid: 1000,
  gid: 1000,
  groups: [],
}

/** The configuration around a form, with some blocks changed. */
export const exampleConfig = (change: object = {}) => configSchema.parse(change)
