/** Names of examples in the documentation, and what replaces them on the day. */

export interface Place {
  readonly written: string
  /** Null: no command contacts it. */
  readonly here: string | null
  readonly why: string
}

/** All names in commands of the day that exist nowhere. Longer names come first. */
export const places: readonly Place[] = [
  {
    written: 'k8s/overlays/oidc',
    here: 'k8s/overlays/demo',
    why: 'a day has no OpenID provider: users have tokens in a Secret',
  },
  {
    written: 'registry.example.org',
    here: null,
    why: 'the node has a mirror of it, with the image that this checkout builds',
  },
  {
    written: 'skylab.my.org',
    here: null,
    why: 'the overlay demo has no ingress, so the patch of its host has no target',
  },
]

/** Names that cannot be registered (RFC 2606), and the one that the pages use. */
const exampleNames = /[\w./:-]*\b(?:example\.(?:org|com|net)|my\.org)\b[\w./:?=@-]*/g

/** The command with places of the day instead of examples. */
export function placed(text: string): string {
  return places.reduce((now, { written, here }) => (here === null ? now : now.replaceAll(written, here)), text)
}

/** Names of examples that are missing in the table. */
export function unknownPlaces(text: string): string[] {
  return [...text.matchAll(exampleNames)]
    .map(([name]) => name)
    .filter(name => !places.some(each => name.includes(each.written)))
}
