/** The style sheet of the gateway's pages, and the policy that permits it and nothing else. Pure. */
import { createHash } from 'node:crypto'

/** Text has a contrast of 7:1 and more, lines and buttons of 3:1 and more, in both schemes. */
export const pageStyle = `
:root{color-scheme:light dark;--background:#fff;--text:#1b1b1b;--muted:#595959;--line:#767676;--accent:#0b5cad;--on-accent:#fff}
@media (prefers-color-scheme:dark){:root{--background:#1c1f24;--text:#f0f0f0;--muted:#b4b8bf;--line:#8a8f98;--accent:#8ec5ff;--on-accent:#10161d}}
*{box-sizing:border-box}
body{margin:0;padding:2rem 1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--text);background:var(--background)}
main{max-inline-size:36rem;margin-inline:auto;overflow-wrap:anywhere}
h1{margin:0 0 1rem;font-size:1.5rem;line-height:1.25}
p{margin:0 0 1rem}
a{color:var(--accent)}
.muted{color:var(--muted)}
.words{padding:.75rem 1rem;border:1px solid var(--line);border-radius:.5rem}
label{display:block;margin:0 0 1rem;font-weight:600}
input{display:block;inline-size:100%;margin-block-start:.25rem;padding:.5rem;border:1px solid var(--line);border-radius:.375rem;font:inherit;color:inherit;background:var(--background)}
button{padding:.5rem 1.25rem;border:1px solid var(--accent);border-radius:.375rem;font:inherit;font-weight:600;color:var(--on-accent);background:var(--accent);cursor:pointer}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
`

const hash = createHash('sha256').update(pageStyle).digest('base64')

/**
 * No script, no image, no frame around it; forms go to the gateway alone.
 * @param formsTo origins to which they may lead too
 */
export const policyHeader = (formsTo?: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': [
    ...[
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      `form-action 'self'${formsTo === undefined ? '' : ` ${formsTo}`}`,
    ],
    ...["frame-ancestors 'none'", "base-uri 'none'"],
  ].join('; '),
})

/** Headers of each page. A browser keeps none: a page holds for one visitor and moment. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  ...policyHeader(),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // With `no-referrer` browsers would send no Origin with the forms.
  'Referrer-Policy': 'same-origin',
}
