/** The second kind of the tests: all Samples of one colour share a ConfigMap. */
import { keyOf, placeOf } from '../../../src/kube/cache.ts'
import type { Change } from '../../../src/kube/picture.ts'
import type { Fact, Kind, Verdict } from '../../../src/reconcile/types.ts'
import { ownerOf, type SampleSights, sampleParent, sampleWatches, specOf } from './sample.ts'

export function colourKind(sights: SampleSights): Kind<SampleSights> {
  const ofColour = sights.samples.index(fact => [keyOf(fact.ref.namespace, specOf(fact).colour)])
  return {
    name: 'colour',
    parent: sampleParent,
    sources: [
      { ...sampleWatches.samples, watch: sights.samples, keysOf: coloursOf },
      {
        ...sampleWatches.maps,
        watch: sights.maps,
        *keysOf({ namespace, name }) {
          const colour = /^colour-(.+)$/.exec(name)?.[1]
          if (colour !== undefined) yield { key: keyOf(namespace, colour), urgent: true }
        },
      },
    ],
    world: () => sights,
    desired: (key, world) => desiredOfColour(key, world, ofColour(key)),
    report: () => undefined,
  }
}

/** The end of a share passes new ones. */
function* coloursOf(change: Change<Fact>) {
  const previous = change.type === 'put' ? change.previous : undefined
  const colours = new Set([change.value, previous].flatMap(fact => (fact ? specOf(fact).colour : [])))
  const isEnd = change.type === 'gone' || colours.size > 1
  for (const colour of colours) yield { key: keyOf(change.namespace, colour), urgent: isEnd }
}

function desiredOfColour(key: string, { maps }: SampleSights, samples: readonly Fact[]): Verdict {
  const { namespace, name: colour } = placeOf(key)
  const name = `colour-${colour}`
  const parents = samples.filter(({ deleting }) => !deleting).sort((a, b) => (a.uid < b.uid ? -1 : 1))
  const standing = [maps.get(keyOf(namespace, name)) ?? []].flat()
  if (parents.length === 0 && standing.length === 0) return { do: 'leave' }
  const metadata = { name, namespace, ownerReferences: parents.map(ownerOf) }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { colour } }
  return {
    do: 'hold',
    parent: 'shared',
    objects: parents.length === 0 ? [] : [{ object, stage: 0, compare: 'exact' }],
    standing,
  }
}
