/** The sharded table of the Citus rows: 200 tenants with 100 rows each. */
export const tenants = 200
const rowsOfTenant = 100

export const table = [
  'drop table if exists bench_delivery',
  `create table bench_delivery (id uuid not null, tenant_id text not null, name text not null, price integer not null,
    primary key (tenant_id, id))`,
  `select create_distributed_table('bench_delivery', 'tenant_id')`,
]

/** The row at a place among all. Places in sequence are different tenants. */
export function deliveryAt(place) {
  const id = `00000000-0000-7000-8000-${place.toString(16).padStart(12, '0')}`
  return { id, tenantId: `t${place % tenants}`, name: `Delivery ${place}`, price: place % 50 }
}

export const deliveries = Array.from({ length: tenants * rowsOfTenant }, (_, place) =>
  deliveryAt(place),
)
export const firstOf = (tenantId, count) =>
  deliveries.filter((one) => one.tenantId === tenantId).slice(0, count)
