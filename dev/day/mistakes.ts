/** Mistakes of operators. The first look of docs/troubleshooting.md shows each, in the words of that page; then it is mended. */

export interface Mistake {
  readonly title: string
  readonly make: readonly string[]
  /** The words that the first look then shows. The page quotes each of them. */
  readonly words: readonly string[]
  readonly mend: readonly string[]
}

export const troubleshooting = 'docs/troubleshooting.md'
/** The heading whose commands an operator runs first, for every problem. */
export const firstLook = 'first-look'

const restart = 'kubectl rollout restart deployment/skylab -n skylab'
const rolledOut = 'kubectl rollout status deployment/skylab -n skylab --timeout=180s'
const apply = 'kubectl apply --server-side -k site'

export const mistakes: readonly Mistake[] = [
  {
    title: 'a wrong password of Redis',
    make: [
      "former=$(kubectl get secret skylab-redis -n skylab -o jsonpath='{.data.password}')",
      `kubectl patch secret skylab-redis -n skylab -p '{"stringData": {"password": "wrong"}}'`,
      restart,
    ],
    words: ['Redis cannot be used', 'waiting for Redis: wrong user name or password'],
    mend: [
      `kubectl patch secret skylab-redis -n skylab -p "{\\"data\\": {\\"password\\": \\"$former\\"}}"`,
      restart,
      rolledOut,
    ],
  },
  {
    title: 'a Secret that is missing',
    make: ['kubectl delete secret skylab-tokens -n skylab', restart],
    words: ['secret "skylab-tokens" not found'],
    mend: ['kubectl create secret generic skylab-tokens -n skylab --from-file=tokens.yaml', restart, rolledOut],
  },
  {
    title: 'an image of the controller that does not exist',
    make: ['kubectl set image deployment/skylab skylab=registry.example.org/skylab:none -n skylab'],
    words: ['ImagePullBackOff'],
    mend: ['kubectl rollout undo deployment/skylab -n skylab', rolledOut],
  },
  {
    title: 'a key of the configuration that does not exist',
    make: ['cp site/skylab.yaml right.yaml', `sed -i '1i redsi: {}' site/skylab.yaml`, apply],
    words: ['unknown key'],
    mend: ['mv right.yaml site/skylab.yaml', apply, rolledOut],
  },
  {
    title: 'the rights are missing',
    make: ['kubectl delete clusterrolebinding skylab-controller-skylab', restart],
    words: ['waiting for the Kubernetes API', 'is forbidden: User', 'apply k8s/base/rbac.yaml'],
    mend: [apply, rolledOut],
  },
]
