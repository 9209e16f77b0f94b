/** Joins the parts for images: the registry, the catalogue that all replicas share, and prepulling. */
import { failpoint } from '../base/failpoint.ts'
import { Digests } from '../images/catalogue/digests.ts'
import { isFresh, knownDigest } from '../images/catalogue/find.ts'
import { Refresher } from '../images/catalogue/refresher.ts'
import { StoredCatalogues } from '../images/catalogue/stored.ts'
import { Prepuller } from '../images/prepull/prepuller.ts'
import { PrepullWatches } from '../images/prepull/watches.ts'
import { createImageSource } from '../images/registry/create.ts'
import { pullSecretReader } from '../images/registry/pull-secret.ts'
import type { ImageSource } from '../images/registry/source.ts'
import { Images } from '../images/service.ts'
import type { Basics } from './basics.ts'
import type { Cluster } from './cluster.ts'
import type { Store } from './store.ts'

export type ImageParts = ReturnType<typeof joinImages>

export function joinImages(basics: Basics, store: Store, { kube }: Cluster) {
  const { settings, config, clock, log } = basics
  const { images, installation } = config
  const { namespace } = settings
  const source = registryOf(basics, kube)
  const catalogues = new StoredCatalogues(store.imageStore, clock)
  const refresher = joinRefresher(basics, store, source, catalogues)
  const watches = new PrepullWatches({ client: kube, installation, namespace, clock, log })
  const prepuller = new Prepuller({
    config,
    namespace,
    view: watches,
    kube,
    store: store.prepulls,
    leases: store.leases,
    catalogue: () => catalogues.agreed(),
    clock,
    log,
    metrics: basics.metrics,
    failpoint,
  })
  catalogues.onChange(() => prepuller.wake())
  const service = new Images({
    images,
    catalogues,
    digests: joinDigests(basics, store, source, catalogues),
    prepulls: catalogue => prepuller.status(catalogue),
    trouble: () => refresher.trouble()?.words,
  })
  return { service, catalogues, refresher, source, prepuller, watches }
}

function registryOf({ settings, config, clock }: Basics, kube: Cluster['kube']): ImageSource {
  const { images, lab } = config
  const { namespace, registryAuthorities: authorities, registryCredentials } = settings
  const pullSecret = pullSecretReader({ secrets: lab.secrets, namespace, kube })
  // A pull secret is useless for Google, whose libraries find credentials by themselves.
  const credentials = async () => registryCredentials ?? (images.gar ? undefined : pullSecret())
  return createImageSource({ images, clock, authorities, credentials })
}

function joinRefresher(
  { config, clock, log, metrics }: Basics,
  { imageStore, leases, bell }: Store,
  source: ImageSource,
  catalogues: StoredCatalogues,
): Refresher {
  const { images } = config
  const refresher = new Refresher({
    images,
    source,
    store: imageStore,
    catalogues,
    leases,
    clock,
    log,
    metrics,
    failpoint,
  })
  catalogues.onMissing(() => refresher.wake())
  bell.on(({ what }) => {
    // Redis may have been emptied, and has no catalogue then.
    if (what === 'compared' || what === 'missed') refresher.wake()
  })
  return refresher
}

function joinDigests(
  { config: { images }, clock, log }: Basics,
  { imageStore }: Store,
  source: ImageSource,
  catalogues: StoredCatalogues,
): Digests {
  return new Digests({
    source,
    memory: imageStore,
    catalogued: reference => catalogues.known && knownDigest(catalogues.known, images, reference),
    isFresh: () => catalogues.known !== null && isFresh(catalogues.known, images, clock.wallMs()),
    clock,
    timeoutMs: images.timeoutSeconds * 1000,
    missingMs: images.missingTagSeconds * 1000,
    log,
  })
}
