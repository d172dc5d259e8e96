/** Filigree: a sharded record with its routes, on the Citus coordinator that DATABASE_URL names. */
import { bootstrap, Controller, Field, Module, NoAuth, Record } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'

@Record({ shardBy: 'tenantId', table: 'bench_delivery' })
class Delivery {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') name!: string
  @Field('integer') price!: number
}

@Controller('/deliveries', { crud: Delivery })
@NoAuth
class DeliveryController {}

@Module({ controllers: [DeliveryController], records: [Delivery] })
class AppModule {}

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
announce(app.url)
