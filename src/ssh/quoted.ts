/** One word of a command for a POSIX shell. Pure. */
export const quoted = (word: string): string =>
  /^[\w./:=@%+,~-]+$/.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
