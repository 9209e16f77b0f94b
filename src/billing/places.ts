/** Where tables of bills are, as the configuration and the environment say. */
export interface PostgresPlace {
  /** A name, an address, or the folder of a socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  /** Read anew for each connection, so that a new password needs no new process. */
  readonly passwordFile?: string | undefined
  /** Of the environment, where there is no file. */
  readonly password?: string | undefined
  /** Whether the certificate of the server is demanded, and must be of this host. */
  readonly tls: boolean
  /** PEM of the authorities that sign it, in place of the usual ones. */
  readonly authorities?: string | undefined
}

export interface BigQueryPlace {
  readonly projectId: string
  readonly dataset: string
  readonly location?: string | undefined
  /** The full path, read again when the key was refused. Without one: application default credentials. */
  readonly credentialsFile?: string | undefined
  readonly endpoint: string
}
