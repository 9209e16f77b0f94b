/** What a lab is made of that stands elsewhere: copies, taken once, at acceptance. Pure. */

/** What acceptance read elsewhere for this lab: copies, and whether the user was provisioned before. */
export interface LabSources {
  /** base64 by file name: the configured secrets. */
  readonly secrets: Readonly<Record<string, string>>
  /** base64 of a Docker config.json, when a pull secret is configured. */
  readonly pullSecret?: string
  /** By name of volume. */
  readonly configMaps: Readonly<
    Record<
      string,
      { readonly data?: Readonly<Record<string, string>>; readonly binaryData?: Readonly<Record<string, string>> }
    >
  >
  readonly provisioned: boolean
}

/** Of a configuration that copies nothing, for a user who has had no lab yet. */
export const noSources: LabSources = { secrets: {}, configMaps: {}, provisioned: false }

/**
 * What was read under a name.
 * @throws {Error} when it was not: acceptance refuses a lab whose sources are missing, so this is a fault of ours
 */
export function sourceOf<T>(sources: Readonly<Record<string, T>>, name: string): T {
  const found = Object.hasOwn(sources, name) ? sources[name] : undefined
  if (found === undefined) throw new Error(`nothing was read for ${name}`)
  return found
}
