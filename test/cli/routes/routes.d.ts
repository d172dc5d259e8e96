// Written by `filigree types test/cli/routes/app.ts --out test/cli/routes/routes.d.ts`. Changes are lost: run it again.
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

/** Clients neither send nor see these fields. */
type Without<T, Names extends PropertyKey> = unknown extends T ? T : Omit<T, Names>

/** These fields may be left out: the server has defaults. */
type Defaulted<T, Names extends PropertyKey> = unknown extends T
  ? T
  : Omit<T, Names> & Partial<Pick<T, Names & keyof T>>
