/** Versions of releases, and dates in place of versions, which are compared in the same way. Pure. */

export interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
  /** Such as `rc1`; null for a final version. */
  readonly prerelease: string | null
}

/** Parses a version such as `27.0.0` or `27.0.0-rc1`, which the configuration's schema has checked. */
export function parseVersion(text: string): Version {
  const [, numbers = '', prerelease = null] = /^([^-]*)(?:-(.*))?$/s.exec(text) ?? []
  const [major = 0, minor = 0, patch = 0] = numbers.split('.').map(Number)
  return { major, minor, patch, prerelease }
}

export function formatVersion({ major, minor, patch, prerelease }: Version): string {
  return `${major}.${minor}.${patch}${prerelease === null ? '' : `-${prerelease}`}`
}

/** Below zero if the first is lower. A final version is above its prereleases. */
export function compareVersions(one: Version, other: Version): number {
  return (
    one.major - other.major ||
    one.minor - other.minor ||
    one.patch - other.patch ||
    comparePrereleases(one.prerelease, other.prerelease)
  )
}

/** Digits count as a number everywhere: by the letter of semantic versioning `rc10` would be below `rc2`. */
function comparePrereleases(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  const pieces = piecesOf(one)
  const others = piecesOf(other)
  const differs = pieces.findIndex((piece, i) => i < others.length && comparePieces(piece, others[i]!) !== 0)
  return differs < 0 ? pieces.length - others.length : comparePieces(pieces[differs]!, others[differs]!)
}

function piecesOf(prerelease: string): readonly string[] {
  return prerelease.match(/\d+|\D+/g) ?? []
}

function comparePieces(one: string, other: string): number {
  const [number, otherNumber] = [Number(one), Number(other)]
  if (number < otherNumber || number > otherNumber) return number - otherNumber
  if (number === otherNumber || one === other) return 0
  return one < other ? -1 : 1
}
