// Written by `filigree types test/cli/routes/app.ts --out test/cli/routes/queries.ts --tanstack`. Changes are lost: run it again.
/* eslint-disable */
import type { Client } from 'filigree/client'
import type { ItemController, Item, NewItem } from './controllers.js'
import type {
  OrderController,
  Order,
  ItemController as ItemController2,
  Customer,
  Label,
} from './orders.js'
import type { default as PingController } from './ping.js'

export interface Routes {
  'GET /items': {
    params: Defaulted<Parameters<ItemController['list']>[0], 'limit'>
    result: Item[]
  }
  'GET /items/{id:int}': { result: Item }
  'GET /items/tagged/<tag>': {
    params: Parameters<ItemController['tagged']>[1]
    result: ReturnType<ItemController['tagged']>
  }
  'POST /items': {
    body: Defaulted<Without<NewItem, 'addedBy'>, 'count'>
    result: ReturnType<ItemController['create']>
  }
  'POST /items/many': {
    body: Defaulted<Without<NewItem, 'addedBy'>, 'count'>[]
    result: ReturnType<ItemController['createMany']>
  }
  'PUT /items/<id:int>/name': {
    body: Parameters<ItemController['rename']>[1]
    result: ReturnType<ItemController['rename']>
  }
  'PATCH /items/<id:int>': {
    body: Parameters<ItemController['change']>[1]
    result: ReturnType<ItemController['change']>
  }
  'DELETE /items/<id:int>': { result: ReturnType<ItemController['remove']> }
  'POST /items/photo': { body: FormData; result: ReturnType<ItemController['photo']> }
  'POST /items/raw': { body: unknown; result: ReturnType<ItemController['raw']> }
  'GET /orders/count': { result: ReturnType<OrderController['count']> }
  'GET /orders': { result: Without<Order, 'customer' | 'labels'>[]; related: OrderRelated }
  'GET /orders/aggregate': { result: Record<string, string | number | boolean | null>[] }
  'GET /orders/<id:int>': { result: Without<Order, 'customer' | 'labels'>; related: OrderRelated }
  'POST /orders': {
    body: Defaulted<Without<Order, 'id' | 'customer' | 'labels' | 'createdAt' | 'updatedAt'>, 'count'> & { customer?: object; labels?: object; labelIds?: string[] }
    result: Without<Order, 'customer' | 'labels'>
  }
  'PATCH /orders/<id:int>': {
    body: Partial<Defaulted<Without<Order, 'id' | 'customer' | 'labels' | 'createdAt' | 'updatedAt'>, 'count'>> & { customer?: object; labels?: object; labelIds?: string[] }
    result: Without<Order, 'customer' | 'labels'>
  }
  'PUT /orders/<id:int>': {
    body: Defaulted<Without<Order, 'id' | 'customer' | 'labels' | 'createdAt' | 'updatedAt'>, 'count'> & { customer?: object; labels?: object; labelIds?: string[] }
    result: Without<Order, 'customer' | 'labels'>
  }
  'DELETE /orders/<id:int>': { result: null }
  "GET /old/it's": { result: ReturnType<ItemController2['show']> }
  'GET /customers': { result: Without<Customer, 'secret'>[] }
  'GET /ping': { result: ReturnType<PingController['ping']> }
}

/** The related rows that `with` adds to Order. */
interface OrderRelated {
  customer: { row: Without<Customer, 'secret'> }
  labels: { row: Label; list: true }
}

/** Options for TanStack Query, by operation: `useQuery(queries.name(options))`, `useMutation(queries.name())`. */
export const createQueries = (client: Client<Routes>) => ({
  itemList: (...[options]: Rest1<Parameters<typeof client.get<'/items'>>>) => ({
    queryKey: ['GET /items', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/items'>('/items', { ...options!, signal }),
  }),
  itemShow: (...[options]: Rest1<Parameters<typeof client.get<'/items/{id:int}'>>>) => ({
    queryKey: ['GET /items/{id:int}', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/items/{id:int}'>('/items/{id:int}', { ...options!, signal }),
  }),
  itemTagged: (...[options]: Rest1<Parameters<typeof client.get<'/items/tagged/<tag>'>>>) => ({
    queryKey: ['GET /items/tagged/<tag>', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/items/tagged/<tag>'>('/items/tagged/<tag>', { ...options!, signal }),
  }),
  itemCreate: () => ({
    mutationKey: ['POST /items'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.post<'/items'>>>) =>
      client.post<'/items'>('/items', body!, options as never),
  }),
  itemCreateMany: () => ({
    mutationKey: ['POST /items/many'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.post<'/items/many'>>>) =>
      client.post<'/items/many'>('/items/many', body!, options as never),
  }),
  itemRename: () => ({
    mutationKey: ['PUT /items/<id:int>/name'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.put<'/items/<id:int>/name'>>>) =>
      client.put<'/items/<id:int>/name'>('/items/<id:int>/name', body!, options as never),
  }),
  itemChange: () => ({
    mutationKey: ['PATCH /items/<id:int>'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.patch<'/items/<id:int>'>>>) =>
      client.patch<'/items/<id:int>'>('/items/<id:int>', body!, options as never),
  }),
  itemRemove: () => ({
    mutationKey: ['DELETE /items/<id:int>'] as const,
    mutationFn: (options: Rest1<Parameters<typeof client.delete<'/items/<id:int>'>>>[0]) => client.delete<'/items/<id:int>'>('/items/<id:int>', options!),
  }),
  itemPhoto: () => ({
    mutationKey: ['POST /items/photo'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.post<'/items/photo'>>>) =>
      client.post<'/items/photo'>('/items/photo', body!, options as never),
  }),
  itemRaw: () => ({
    mutationKey: ['POST /items/raw'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.post<'/items/raw'>>>) =>
      client.post<'/items/raw'>('/items/raw', body!, options as never),
  }),
  orderCount: (...[options]: Rest1<Parameters<typeof client.get<'/orders/count'>>>) => ({
    queryKey: ['GET /orders/count', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/orders/count'>('/orders/count', { ...options!, signal }),
  }),
  orderList: (...[options]: Rest1<Parameters<typeof client.get<'/orders', any>>>) => ({
    queryKey: ['GET /orders', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/orders', any>('/orders', { ...options!, signal }),
  }),
  orderAggregate: (...[options]: Rest1<Parameters<typeof client.get<'/orders/aggregate'>>>) => ({
    queryKey: ['GET /orders/aggregate', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/orders/aggregate'>('/orders/aggregate', { ...options!, signal }),
  }),
  orderFind: (...[options]: Rest1<Parameters<typeof client.get<'/orders/<id:int>', any>>>) => ({
    queryKey: ['GET /orders/<id:int>', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/orders/<id:int>', any>('/orders/<id:int>', { ...options!, signal }),
  }),
  orderCreate: () => ({
    mutationKey: ['POST /orders'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.post<'/orders'>>>) =>
      client.post<'/orders'>('/orders', body!, options as never),
  }),
  orderUpdate: () => ({
    mutationKey: ['PATCH /orders/<id:int>'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.patch<'/orders/<id:int>'>>>) =>
      client.patch<'/orders/<id:int>'>('/orders/<id:int>', body!, options as never),
  }),
  orderReplace: () => ({
    mutationKey: ['PUT /orders/<id:int>'] as const,
    mutationFn: ({ body, ...options }: Variables<Parameters<typeof client.put<'/orders/<id:int>'>>>) =>
      client.put<'/orders/<id:int>'>('/orders/<id:int>', body!, options as never),
  }),
  orderDelete: () => ({
    mutationKey: ['DELETE /orders/<id:int>'] as const,
    mutationFn: (options: Rest1<Parameters<typeof client.delete<'/orders/<id:int>'>>>[0]) => client.delete<'/orders/<id:int>'>('/orders/<id:int>', options!),
  }),
  oldShow: (...[options]: Rest1<Parameters<typeof client.get<"/old/it's">>>) => ({
    queryKey: ["GET /old/it's", options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<"/old/it's">("/old/it's", { ...options!, signal }),
  }),
  customerList: (...[options]: Rest1<Parameters<typeof client.get<'/customers'>>>) => ({
    queryKey: ['GET /customers', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/customers'>('/customers', { ...options!, signal }),
  }),
  pingPing: (...[options]: Rest1<Parameters<typeof client.get<'/ping'>>>) => ({
    queryKey: ['GET /ping', options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.get<'/ping'>('/ping', { ...options!, signal }),
  }),
})

/** The arguments of a call after its path. */
type Rest1<Arguments extends readonly unknown[]> = Arguments extends readonly [
  unknown,
  ...infer Rest,
]
  ? Rest
  : never

/** The body of a write, with its other options. */
type Variables<Arguments extends readonly unknown[]> = (undefined extends Arguments[1]
  ? { body?: Arguments[1] }
  : { body: Arguments[1] }) &
  (Arguments extends readonly [unknown, unknown?, ...infer Rest] ? NonNullable<Rest[0]> : unknown)

/** Clients neither send nor see these fields. */
type Without<T, Names extends PropertyKey> = unknown extends T ? T : Omit<T, Names>

/** These fields may be left out: the server has defaults. */
type Defaulted<T, Names extends PropertyKey> = unknown extends T
  ? T
  : Omit<T, Names> & Partial<Pick<T, Names & keyof T>>
