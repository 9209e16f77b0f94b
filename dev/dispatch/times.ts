/** Times by which a machine of this host lives in seconds. */
export const quickTimes = {
  ...{ PollInterval: '1s', ProbeInterval: '1s', SyncInterval: '2s', TimeoutIdle: '3s', TimeoutBooting: '60s' },
  ...{ TimeoutProbe: '60s', TimeoutShutdown: '2s', TimeoutSignal: '1s', TimeoutTERM: '10s' },
  ...{ MaxCloudOpsPerSecond: 0, MaxConcurrentInstanceCreateOps: 4 },
} as const
