/** Names of images in what an operator writes. */

/** Whether a reference says by its content which image it means. A tag may come to name another one. */
export const hasDigest = (reference: string): boolean => /@sha256:[0-9a-f]{64}$/.test(reference)
