/** The contents of the files that the block `redis` names. */
export interface RedisLogin {
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** PEM of the authorities that sign the server's certificate, in place of the usual ones. */
  readonly authorities?: string | undefined
}
