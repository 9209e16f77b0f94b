/** Finds the images that a file names, and writes their digests. Pure. */
import { isScalar, type Pair, parseAllDocuments, type Scalar, visit, type YAMLMap } from 'yaml'

/** A place in a text that names an image of a registry. */
export interface NamedImage {
  readonly registry: string
  readonly repository: string
  readonly tag: string
  /** The characters to replace, from one index to another, and their replacement for a digest. */
  readonly from: number
  readonly to: number
  text(digest: string): string
}

const referenceForm =
  /^(?<registry>[\w-]+(?=[.:])[\w.-]*(?::\d+)?|localhost(?::\d+)?)\/(?<repository>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*):(?<tag>\w[\w.-]{0,127})(?:@sha256:[0-9a-f]{64})?$/

type Parts = Pick<NamedImage, 'registry' | 'repository' | 'tag'>

/** Parts of a reference with a registry and a tag; one with a digest is looked up again. */
function partsOf(reference: string): Parts | undefined {
  const { registry, repository, tag } = referenceForm.exec(reference)?.groups ?? {}
  return registry && repository && tag ? { registry, repository, tag } : undefined
}

const nameOf = ({ registry, repository, tag }: Parts) => `${registry}/${repository}:${tag}`

/** Images of a Dockerfile (by the file's name) or of YAML: manifests, kustomizations, Helm values, configurations. */
export function namedImages(file: string, text: string): NamedImage[] {
  const found = /(^|\/)Dockerfile[^/]*$/.test(file) ? ofDockerfile(text) : ofYaml(text)
  return found.toSorted((a, b) => a.from - b.from)
}

/** The text with digests; `digestOf` has one for each of its images. */
export function withDigests(text: string, images: readonly NamedImage[], digestOf: (image: NamedImage) => string) {
  return images.reduceRight(
    (result, image) => result.slice(0, image.from) + image.text(digestOf(image)) + result.slice(image.to),
    text,
  )
}

function ofDockerfile(text: string): NamedImage[] {
  return [...text.matchAll(/^(?:FROM +(?:--platform=\S+ +)?|ARG +\w+=|COPY +--from=)(\S+)/gim)].flatMap(match => {
    const to = match.index + match[0].length
    return whole(match[1]!, to - match[1]!.length, to)
  })
}

function whole(reference: string, from: number, to: number): NamedImage[] {
  const parts = partsOf(reference)
  return parts ? [{ ...parts, from, to, text: digest => `${nameOf(parts)}@${digest}` }] : []
}

function ofYaml(text: string): NamedImage[] {
  const found: NamedImage[] = []
  for (const document of parseAllDocuments(text)) {
    if ('errors' in document && document.errors[0]) throw document.errors[0]
    visit(document, {
      Pair(_, { key, value }) {
        if (isScalar(key) && key.value === 'image' && isText(value)) {
          found.push(...whole(value.value, value.range![0], value.range![1]))
        }
      },
      Map(_, map) {
        found.push(...(ofKustomization(text, map) ?? ofHelm(map) ?? []))
      },
    })
  }
  return found
}

const isText = (value: unknown): value is Scalar<string> => isScalar(value) && typeof value.value === 'string'

/** The value of a key, if it is text. */
function textAt(map: YAMLMap, key: string): Scalar<string> | undefined {
  const value = map.get(key, true)
  return isText(value) ? value : undefined
}

/** An entry of `images` has the digest in a key of its own. */
function ofKustomization(text: string, map: YAMLMap): NamedImage[] | undefined {
  const [name, tag] = [textAt(map, 'newName') ?? textAt(map, 'name'), textAt(map, 'newTag')]
  const parts = name && tag && partsOf(`${name.value}:${tag.value}`)
  if (!parts) return undefined
  const digest = textAt(map, 'digest')
  if (digest) return [{ ...parts, from: digest.range![0], to: digest.range![1], text: value => value }]
  const at = tag.range![1]
  const key = map.items.find((pair: Pair) => pair.value === tag)!.key as Scalar
  const column = key.range![0] - text.lastIndexOf('\n', key.range![0]) - 1
  const before = map.flow ? ', ' : `\n${' '.repeat(column)}`
  return [{ ...parts, from: at, to: at, text: value => `${before}digest: ${value}` }]
}

/** Charts join name and tag, so the digest goes behind the tag. */
function ofHelm(map: YAMLMap): NamedImage[] | undefined {
  const [name, tag] = [textAt(map, 'name') ?? textAt(map, 'repository'), textAt(map, 'tag')]
  const parts = name && tag && partsOf(`${name.value}:${tag.value}`)
  if (!parts) return undefined
  const [from, to] = tag.range!
  return [{ ...parts, from, to, text: digest => JSON.stringify(`${parts.tag}@${digest}`) }]
}
