/** Further apps of a gateway for benches: each has an address of its own on this machine. */

/** @param number of a further app, from 1 */
export const otherAddress = (number: number): string => `127.1.${number >> 8}.${number & 255}`
