/** Subjects: the things that operations, rings and streams of events concern. Pure. */

/** A thing by its kind and its name, which is unique within the kind. A lab has the name of its user. */
export interface Subject {
  /** Lower-case letters, such as `lab`. */
  readonly kind: string
  readonly name: string
}

/** The kind of users' labs. */
export const labKind = 'lab'

export const labOf = (user: string): Subject => ({ kind: labKind, name: user })

/** Long enough for an address, short enough for a key. */
const longestName = 253

/** Whether a subject may have this name. Names of users have stricter rules (`base/usernames.ts`). */
export const isSubjectName = (name: string): boolean =>
  name !== '' && name.length <= longestName && name.isWellFormed() && !/\p{Cc}/u.test(name)

/** A subject as text, such as `lab:ada`: its form in Redis, and a key for maps. */
export const subjectText = ({ kind, name }: Subject): string => `${kind}:${name}`

/** The field that names a subject in logs, spans and findings: `user` for a lab, `subject` for any other. */
export const namedBy = (subject: Subject): { readonly user: string } | { readonly subject: string } =>
  subject.kind === labKind ? { user: subject.name } : { subject: subjectText(subject) }

/**
 * The name that a plan of this subject is sealed for, so that it opens for no other. Labs have that of their user, since their
 * plans are older than kinds. No user's name has a colon.
 */
export const sealedName = (subject: Subject): string => (subject.kind === labKind ? subject.name : subjectText(subject))

/** @returns undefined for text that is not a subject. The kind may be one that this release does not know */
export function parseSubject(text: string): Subject | undefined {
  const [, kind, name] = /^([a-z]+):(.+)$/s.exec(text) ?? []
  return kind === undefined || name === undefined ? undefined : { kind, name }
}
