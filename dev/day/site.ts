/** Edits that an operator makes by hand in the files of a site: the registry of labs, and the authority of its certificate. */

import { existsSync } from 'node:fs'
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Document, parseDocument } from 'yaml'

export interface SiteValues {
  /** `host:port` of the TLS registry with images of labs. */
  readonly registry: string
  /** Path of the authority's certificate. */
  readonly authority: string
  readonly repository: string
  readonly recommendedTag: string
}

const namespaceMade = /^kubectl create namespace ([\w-]+)/

/** The Secret with tokens that the overlay demo needs beside the page's commands, once a namespace exists. */
export function byHand(command: string): string | null {
  const namespace = namespaceMade.exec(command)?.[1]
  return namespace ? `kubectl create secret generic skylab-tokens -n ${namespace} --from-file=tokens.yaml` : null
}

/** Folders of the checkout itself. */
const foreign = ['dev', 'docs', 'hub', 'k8s', 'node_modules', 'scripts', 'src']
const authorityComponent = '../k8s/components/ca'

/** Adapts every site in the folder to this run. An adapted site stays as it is. */
export async function adaptSites(checkout: string, values: SiteValues): Promise<void> {
  for (const { name } of (await readdir(checkout, { withFileTypes: true })).filter(each => each.isDirectory())) {
    const site = join(checkout, name)
    if (foreign.includes(name) || !existsSync(join(site, 'kustomization.yaml'))) continue
    await adaptConfiguration(site, join(checkout, 'k8s', 'overlays', 'demo', 'skylab.yaml'), values)
    await adaptKustomization(site, values)
  }
}

/** A site without a configuration gets the overlay's, as the pages say. */
async function adaptConfiguration(site: string, overlays: string, values: SiteValues): Promise<void> {
  const file = join(site, 'skylab.yaml')
  if (!existsSync(file)) await copyFile(overlays, file)
  await change(file, document => {
    if (document.getIn(['images', 'registry']) === values.registry) return
    const { registry, recommendedTag, repository } = values
    const others = (document.toJS() as { images?: object }).images
    put(document, 'images', { ...others, registry, docker: { repository }, recommendedTag })
  })
}

/** Adds the authority, as docs/deploy.md says for an authority of one's own. */
async function adaptKustomization(site: string, { authority }: SiteValues): Promise<void> {
  await copyFile(authority, join(site, 'ca.crt'))
  await change(join(site, 'kustomization.yaml'), document => {
    const { configMapGenerator = [], components = [] } = document.toJS() as Kustomization
    if (components.includes(authorityComponent)) return
    put(document, 'components', [...components, authorityComponent])
    const generator = { name: 'skylab-ca', namespace: 'skylab', files: ['ca.crt'] }
    put(document, 'configMapGenerator', [...configMapGenerator, generator])
  })
}

interface Kustomization {
  readonly configMapGenerator?: readonly object[]
  readonly components?: readonly string[]
}

/** Writes a node: a plain value would become an ordered map of YAML 1.1. */
const put = (document: Document.Parsed, key: string, value: unknown) => document.set(key, document.createNode(value))

async function change(file: string, edit: (document: Document.Parsed) => void): Promise<void> {
  const text = await readFile(file, 'utf8')
  const document = parseDocument(text, { version: '1.1' })
  if (document.errors.length > 0) throw new Error(`${basename(file)}: ${document.errors[0]!.message}`)
  edit(document)
  const edited = document.toString({ lineWidth: 0 })
  if (edited !== text) await writeFile(file, edited)
}
