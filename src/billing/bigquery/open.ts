/** Opens the table of bills in BigQuery, with Google's own tokens. */
import { readFile } from 'node:fs/promises'
import type { Clock } from '../../base/clock.ts'
import { GoogleTokens } from '../../images/registry/google-tokens.ts'
import { RegistryHttp } from '../../images/registry/http.ts'
import type { BigQueryPlace } from '../places.ts'
import type { BillTable } from '../table.ts'
import { Queries } from './queries.ts'
import { type BigQueryOptions, BigQueryTable } from './table.ts'

export interface OpenOptions extends Pick<BigQueryOptions, 'table' | 'log' | 'cluster'> {
  readonly place: BigQueryPlace
  readonly timeoutMs: number
  readonly clock: Clock
}

const scope = 'https://www.googleapis.com/auth/bigquery'

export function bigQueryTable({ place, timeoutMs, clock, ...names }: OpenOptions): BillTable {
  const { projectId, dataset, location, credentialsFile, endpoint } = place
  const http = new RegistryHttp({ clock, timeoutMs })
  const credentials = async () => (credentialsFile === undefined ? undefined : readFile(credentialsFile, 'utf8'))
  const tokens = new GoogleTokens({ projectId, credentials, http, clock, timeoutMs, scope })
  const queries = new Queries({ endpoint, projectId, location, http, tokens, clock, timeoutMs })
  return new BigQueryTable({ queries, projectId, dataset, ...names })
}
