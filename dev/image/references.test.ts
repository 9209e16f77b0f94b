import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { namedImages, withDigests } from './references.ts'

const digest = `sha256:${'a'.repeat(64)}`
const other = `sha256:${'b'.repeat(64)}`
const pinned = (file: string, text: string) => withDigests(text, namedImages(file, text), () => digest)

describe('withDigests', () => {
  it.each([
    ['FROM docker.io/library/node:24 AS build', `FROM docker.io/library/node:24@${digest} AS build`],
    ['ARG BASE=docker.io/library/node:24-slim', `ARG BASE=docker.io/library/node:24-slim@${digest}`],
    [`FROM quay.io/a/b:1@${other}`, `FROM quay.io/a/b:1@${digest}`],
    ['FROM --platform=linux/amd64 r.org/a:1', `FROM --platform=linux/amd64 r.org/a:1@${digest}`],
  ])('adds digests to a Dockerfile with %s', (text, result) => {
    expect(pinned('some/Dockerfile', `# first\n${text}\nRUN true\n`)).toBe(`# first\n${result}\nRUN true\n`)
  })

  // biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of a Dockerfile
  it.each(['FROM scratch', 'FROM ${BASE} AS build', 'FROM build', `FROM r.org/a@${other}`, 'COPY --from=build /a /b'])(
    'changes nothing in %s',
    text => {
      expect(pinned('Dockerfile', text)).toBe(text)
    },
  )

  it('gives a kustomization the digest in a key of its own, beside the tag', () => {
    const text =
      'images:\n  - name: redis # ours\n    newName: docker.io/library/redis\n    newTag: "7.2"\npatches: []\n'
    const result = pinned('kustomization.yaml', text)
    expect(result).toBe(text.replace('"7.2"\n', `"7.2"\n    digest: ${digest}\n`))
    expect(pinned('kustomization.yaml', result.replace(digest, other))).toBe(result)
  })

  it('adds the digest on the same line when the entry is on one line', () => {
    const text = 'images: [{name: r.org/a, newTag: "1"}]\n'
    expect(pinned('kustomization.yaml', text)).toBe(`images: [{name: r.org/a, newTag: "1", digest: ${digest}}]\n`)
  })

  it('changes containers and configurations in all documents, and keeps comments', () => {
    const text = '# one\nimage: r.org:5000/a/b:1 # why\n---\nspec: {containers: [{image: "r.org/c:2"}]}\n'
    const result = pinned('pods.yaml', text)
    expect(result).toContain(`# one\nimage: r.org:5000/a/b:1@${digest} # why\n---\n`)
    expect(parseAllDocuments(result)[1]!.toJS()).toEqual({ spec: { containers: [{ image: `r.org/c:2@${digest}` }] } })
  })

  it('adds the digest behind the tag of Helm values', () => {
    const text = 'hub:\n  image:\n    name: r.org/hub\n    tag: "4.4.0"\n'
    expect(pinned('values.yaml', text)).toBe(text.replace('"4.4.0"', `"4.4.0@${digest}"`))
  })

  it.each(['image: skylab:0.2.0', 'image: library/redis:7', 'image: {a: b}', 'tag: "1"', 'name: r.org/a'])(
    'changes nothing without a registry and a tag: %s',
    text => {
      expect(pinned('a.yaml', `${text}\n`)).toBe(`${text}\n`)
    },
  )
})
