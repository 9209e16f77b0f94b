/** Human-readable descriptions of images by their tags, after the conventions of SQR-059. Pure. */

const number = (text: string) => text.replaceAll('_', '.')

const forms: readonly [RegExp, (match: string) => string][] = [
  [/^r(\d+_\d+_\d+_rc\d+)$/, match => `Release Candidate r${number(match.replace(/_rc/, '-rc'))}`],
  [/^r(\d+(?:_\d+)*)$/, match => `Release r${number(match)}`],
  [/^w_(\d{4}_\d{1,2})$/, match => `Weekly ${match}`],
  [/^d_(\d{4}_\d{2}_\d{2})$/, match => `Daily ${match}`],
  [/^exp_(.+)$/, match => `Experimental ${match}`],
  [/^(recommended)$/, () => 'Recommended'],
]

/** What people call the image with this tag; the tag itself where it follows no convention. */
export function describeTag(tag: string): string {
  for (const [form, describe] of forms) {
    const match = form.exec(tag)?.[1]
    if (match !== undefined) return describe(match)
  }
  return tag
}
