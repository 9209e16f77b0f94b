/** The block `form`: the appearance of the lab form (SQR-066, "GET …/lab-form/<username>"). */
import { z } from 'zod'

const color = z.string().regex(/^#[0-9a-fA-F]{6}$/, { error: 'not a colour such as #1c81a4' })

export const form = z.strictObject({
  heading: z.string().min(1).default('Choose your lab').describe('the heading above the form'),
  help: z.string().default('').describe('a paragraph below the heading, as plain text; default: none'),
  helpUrl: z
    .url({ protocol: /^https?$/, error: 'not an http:// or https:// address' })
    .optional()
    .describe('target of the link “More about images and sizes”; default: no such link'),
  accentColor: color.default('#1f5f8b').describe('colour of chosen options and of the focus'),
  dark: z.enum(['never', 'auto']).default('auto').describe('whether the form is dark if the reader’s system is'),
})
