/** The blocks `images` and `images.prepull`: the images of labs, their registry, and restrictions. */
import { z } from 'zod'
import { address, seconds } from './values.ts'

const repository = z.string().regex(/^[a-z0-9]+([._/-]+[a-z0-9]+)*$/, { error: 'not the name of a repository' })
const tag = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, { error: 'not a tag' })

const docker = z.strictObject({
  repository: repository.describe('the one repository with the images of labs, without the registry'),
})

const gar = z.strictObject({
  repository: z.string().min(1).describe('repository within the project'),
  image: z.string().min(1).describe('name of the image within the repository'),
  projectId: z.string().min(1).describe('the Google project'),
  location: z.string().min(1).describe('region of the repository, such as us-central1'),
  endpoint: address
    .default('https://artifactregistry.googleapis.com')
    .describe('address of its REST API; https:// unless it is this machine'),
})

const age = z.string().regex(/^[1-9]\d{0,4}[hdwmy]$/, { error: 'not an age such as 36h, 10d, 6w, 3m or 1y' })

/** A filter for one kind of images in the menu; all conditions must be met. */
const filter = z.strictObject({
  number: z.number().int().min(0).optional().describe('how many of the latest; default: all'),
  age: age.optional().describe('not older than this: hours, days, weeks, months of 30 days or years of 365'),
  cutoffDate: z.iso.datetime({ offset: true }).optional().describe('not older than this moment'),
  cutoffVersion: z
    .string()
    .regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, { error: 'not a version such as 27.0.0' })
    .optional()
    .describe('not below this version'),
  cutoffBuild: z.number().int().min(0).optional().describe('with a build, not below this one'),
})

/** The kinds of images of SQR-059. Aliases and tags without a convention are missing, since they are always offered. */
const menu = z.partialRecord(z.enum(['release', 'weekly', 'daily', 'releaseCandidate', 'experimental']), filter)

const restriction = z.strictObject({
  tags: z.array(z.string().min(1)).min(1).describe('tags that the entry applies to, * for any text'),
  groups: z
    .array(z.string().min(1))
    .min(1)
    .describe('a user needs to be a member of one of these groups to have such an image'),
})

const prepull = z.strictObject({
  enabled: z.boolean().default(true).describe('whether images are pulled onto nodes in advance'),
  timeoutSeconds: seconds(1800).describe('time for one pull on all nodes; after it the pull has failed'),
  retrySeconds: seconds(300).describe('time from a failure to the next attempt; it doubles with each further failure'),
  maxRetrySeconds: seconds(14_400).describe('the longest time between two attempts'),
  maxAtOnce: z.number().int().positive().default(2).describe('how many images are pulled at the same time'),
})

export const images = z.strictObject({
  registry: z
    .string()
    .regex(/^[a-zA-Z0-9.-]+(:\d{1,5})?$|^\[[0-9a-fA-F:]+\](:\d{1,5})?$/, { error: 'not a host, with or without port' })
    .default('registry.hub.docker.com')
    .describe('host of the registry, with its port if it has one'),
  docker: docker
    .optional()
    .describe(
      'a registry that speaks the protocol of Docker Hub; default, without `gar`: the repository lsstsqre/sciplat-lab',
    ),
  gar: gar.optional().describe('Google Artifact Registry, in place of `docker`'),
  recommendedTag: tag.default('recommended').describe('tag of the image for `image_type: recommended`'),
  numReleases: z.number().int().min(0).default(1).describe('how many of the latest releases to prepull'),
  numWeeklies: z.number().int().min(0).default(2).describe('how many of the latest weeklies to prepull'),
  numDailies: z.number().int().min(0).default(3).describe('how many of the latest dailies to prepull'),
  pins: z.array(tag).default([]).describe('tags to prepull, however old'),
  cycle: z.number().int().min(0).nullable().default(null).describe('only images of this cycle are used; null for all'),
  aliasTags: z
    .array(tag)
    .default([])
    .describe('tags that are other names of images; lists and menus do not show them separately'),
  menu: menu
    .prefault({})
    .describe(
      'images in the menu of the form, by release, weekly, daily, releaseCandidate, experimental; default: every tag',
    ),
  restrictions: z
    .array(restriction)
    .default([])
    .describe('images that only members of some groups may have; all entries that match a tag apply'),
  timeoutSeconds: seconds(5).describe('time for one request to the registry'),
  readingTimeoutSeconds: seconds(240).describe(
    'time for one whole reading, all pages of tags and all digests; after it the reading has failed',
  ),
  refreshIntervalSeconds: seconds(300).describe('how often one of the replicas reads the tags'),
  missingTagSeconds: z
    .number()
    .min(5)
    .max(30)
    .default(15)
    .describe('how long a replica remembers that an image is missing in the registry'),
  maxTags: z.number().int().positive().default(100_000).describe('how many tags are read at most; more is a failure'),
  plainHttp: z
    .boolean()
    .default(false)
    .describe('whether to use the registry without TLS; on a loopback address that is always so'),
  tokenHosts: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-f:]+\](:\d{1,5})?$/, { error: 'not a host in small letters' }),
    )
    .optional()
    .describe(
      'further hosts that may get the registry’s password, to issue tokens; default: any https:// host that the registry names, with plainHttp none',
    ),
  caFile: z.string().optional().describe('PEM: further authorities for the certificate of the registry'),
  credentialsFile: z
    .string()
    .optional()
    .describe(
      'a Docker config.json, or for `gar` the JSON key of a service account; default: the pull secret of `lab.secrets`, or for `gar` Google’s default credentials',
    ),
  prepull: prepull.prefault({}).describe('prepulling of images onto nodes'),
})

export type ImageConfig = z.infer<typeof images>

/** The repository when the configuration names neither `docker` nor `gar`. */
const defaultRepository = 'lsstsqre/sciplat-lab'

/** The repository of labs' images, as in references after the registry. */
export function repositoryOf({ docker, gar }: Pick<ImageConfig, 'docker' | 'gar'>): string {
  if (gar) return `${gar.projectId}/${gar.repository}/${gar.image}`
  return docker?.repository ?? defaultRepository
}

/** Registry and repository: the beginning of every reference of an image. */
export function qualifiedRepositoryOf(images: Pick<ImageConfig, 'registry' | 'docker' | 'gar'>): string {
  return `${images.registry}/${repositoryOf(images)}`
}
