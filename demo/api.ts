import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbeddedKubernetes } from '../src/simulation/kubernetes/embedded-kubernetes.js'
import { startControlPlane } from '../test/support/control-plane.js'

/** A Kubernetes API without nodes. */
export interface DemoApi {
  /** YAML. */
  readonly kubeconfig: string
  /** The same in a file, for the spec and for kubectl. */
  readonly kubeconfigFile: string
  stop(): Promise<void>
}

/** In this process, ready at once; its kubeconfig is left in the folder. */
export async function embeddedApi(folder: string): Promise<DemoApi> {
  const kubernetes = await startEmbeddedKubernetes()
  const kubeconfig = kubernetes.kubeconfig({ name: 'demo' })
  const kubeconfigFile = join(folder, 'kubeconfig')
  await writeFile(kubeconfigFile, kubeconfig, { mode: 0o600 })
  return {
    kubeconfig,
    kubeconfigFile,
    stop: () => kubernetes.close(),
  }
}

/** Real etcd, API server, controller manager and scheduler: built from source the first time. */
export async function realApi(): Promise<DemoApi> {
  const kube = await startControlPlane({ name: 'demo' })
  return {
    kubeconfig: kube.kubeconfig(),
    kubeconfigFile: await kube.kubeconfigFile(),
    stop: () => kube.stop(),
  }
}
