/** Subjects: the things that operations, rings and streams of events concern. Pure. */

/** A thing by its kind and its name, which is unique within the kind. A lab has the name of its user. */
export interface Subject {
  readonly kind: 'lab'
  readonly name: string
}

export const labOf = (user: string): Subject => ({ kind: 'lab', name: user })

/** A subject as text, such as `lab:ada`: its form in Redis, and a key for maps. */
export const subjectText = ({ kind, name }: Subject): string => `${kind}:${name}`

/** @returns undefined for text that is not a subject, or has a kind that this release does not know */
export function parseSubject(text: string): Subject | undefined {
  const [, name] = /^lab:(.+)$/s.exec(text) ?? []
  return name === undefined ? undefined : labOf(name)
}
