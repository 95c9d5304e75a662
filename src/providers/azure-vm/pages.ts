import { AsyncLocalStorage } from 'node:async_hooks'
import type { ComputeManagementClientOptionalParams } from '@azure/arm-compute'

type Policy = NonNullable<ComputeManagementClientOptionalParams['additionalPolicies']>[number]['policy']

/** What every list of the SDK is. */
export interface Pages<T> {
  byPage(from: { readonly continuationToken?: string }): AsyncIterator<T[] & { continuationToken?: string }>
}

export interface Page<T> {
  readonly items: readonly T[]
  /** URL of the page that follows. */
  readonly next: string | undefined
}

const signalOfPage = new AsyncLocalStorage<AbortSignal>()

/** The SDK hands the signal of a list to the request for its first page only: a later one would wait for ever. */
export const signalOfEveryPage: Policy = {
  name: 'signalOfEveryPage',
  sendRequest: (request, next) => {
    const signal = signalOfPage.getStore()
    if (signal !== undefined) request.abortSignal ??= signal
    return next(request)
  },
}

/** One page of a list: the first, or the one at `url`. */
export async function pageFrom<T>(
  pages: Pages<T>,
  url: string | undefined,
  signal: AbortSignal,
): Promise<Page<T>> {
  const from = url === undefined ? {} : { continuationToken: url }
  const { value } = await signalOfPage.run(signal, () => pages.byPage(from).next())
  return { items: value ?? [], next: value?.continuationToken || undefined }
}
