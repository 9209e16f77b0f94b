/** Inputs of a lab from other objects: copies, taken once, at acceptance. Pure. */

/** Inputs that acceptance read for this lab: copies, and whether the user was provisioned before. */
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

/** Sources for a configuration that copies nothing, and a user without an earlier lab. */
export const noSources: LabSources = { secrets: {}, configMaps: {}, provisioned: false }

/**
 * The value that was read under a name.
 * @throws {Error} when there is none: acceptance refuses a lab whose sources are missing, so this is a defect of Skylab
 */
export function sourceOf<T>(sources: Readonly<Record<string, T>>, name: string): T {
  const found = Object.hasOwn(sources, name) ? sources[name] : undefined
  if (found === undefined) throw new Error(`nothing was read for ${name}`)
  return found
}
