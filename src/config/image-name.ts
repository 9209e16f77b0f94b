/** Names of images in the configuration. */

/** True if a reference has a digest, which always names the same image. A tag may move to another one. */
export const hasDigest = (reference: string): boolean => /@sha256:[0-9a-f]{64}$/.test(reference)
