import type { ArmError } from './arm-state.js'

export interface ArmAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Undefined: none. */
  readonly body: unknown
}

export function answer(status: number, body?: unknown, headers: Record<string, string> = {}): ArmAnswer {
  return { status, body, headers }
}

export function refuse(status: number, error: ArmError, headers: Record<string, string> = {}): ArmAnswer {
  return answer(status, { error }, headers)
}

/** What ARM itself says about a resource it does not know. */
export function notFound(type: string, name: string, resourceGroup: string): ArmAnswer {
  const message = `The Resource 'Microsoft.Compute/${type}/${name}' under resource group '${resourceGroup}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix`
  return refuse(404, { code: 'ResourceNotFound', message }, { 'x-ms-failure-cause': 'gateway' })
}

export function groupNotFound(resourceGroup: string): ArmAnswer {
  const message = `Resource group '${resourceGroup}' could not be found.`
  return refuse(404, { code: 'ResourceGroupNotFound', message }, { 'x-ms-failure-cause': 'gateway' })
}
