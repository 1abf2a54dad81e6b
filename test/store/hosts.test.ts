import { describe, expect, it } from 'vitest'
import { InvalidInputError } from '../../src/errors.ts'
import { connectTimeoutOf, groupOf, hostsOf } from '../../src/store/mysql/hosts.ts'

describe('the hosts of a URL', () => {
  it.each([
    ['mysql://root@localhost/app', ['mysql://root@localhost/app']],
    ['mariadb://root@localhost/app', ['mysql://root@localhost/app']],
    [
      'mysql://me:p%40ss%2Cword@h1:3306,h2,[::1]:3307/app?connectTimeout=5000',
      [
        'mysql://me:p%40ss%2Cword@h1:3306/app?connectTimeout=5000',
        'mysql://me:p%40ss%2Cword@h2/app?connectTimeout=5000',
        'mysql://me:p%40ss%2Cword@[::1]:3307/app?connectTimeout=5000',
      ],
    ],
    // A comma or @ in the password does not separate hosts.
    ['mysql://me:a,b@c@h1,h2/app', ['mysql://me:a,b@c@h1/app', 'mysql://me:a,b@c@h2/app']],
    ['mysql://h1, h2/app', ['mysql://h1/app', 'mysql://h2/app']],
  ])('%s', (url, urls) => {
    expect(hostsOf(url).map((host) => host.url)).toEqual(urls)
  })

  it('the URLs of the hosts omit the parameter `group`, because the driver does not support it', () => {
    const group = '0b39936d-e821-4bf0-9b9e-5e0afb0dbeaf'
    for (const query of [`?group=${group}&connectTimeout=5000`, `?connectTimeout=5000&group=${group}`]) {
      expect(groupOf(`mysql://h1,h2/app${query}`)).toBe(group)
      expect(hostsOf(`mysql://h1,h2/app${query}`).map(({ url }) => url)).toEqual([
        'mysql://h1/app?connectTimeout=5000',
        'mysql://h2/app?connectTimeout=5000',
      ])
    }
    expect(hostsOf(`mysql://h1/app?group=${group}`)[0]?.url).toBe('mysql://h1/app')
    expect(groupOf('mysql://h1/app?connectTimeout=5000')).toBeNull()
    expect(() => groupOf('mysql://h1/app?group=mine')).toThrow(
      "'group' is not a UUID; write the value of the server's group_replication_group_name",
    )
  })

  it.each<[string, object | string | null]>([
    ['ssl-mode=REQUIRED', { rejectUnauthorized: false }],
    ['sslmode=require', { rejectUnauthorized: false }],
    ['ssl_mode=REQUIRED', { rejectUnauthorized: false }],
    ['sslMode=required', { rejectUnauthorized: false }],
    ['ssl=required', { rejectUnauthorized: false }],
    ['tls=skip-verify', { rejectUnauthorized: false }],
    ['sslaccept=accept_invalid_certs', { rejectUnauthorized: false }],
    ['ssl-mode=VERIFY_CA', { rejectUnauthorized: true }],
    ['sslmode=verify-ca', { rejectUnauthorized: true }],
    ['ssl-mode=VERIFY_IDENTITY', { verifyIdentity: true }],
    ['sslmode=verify-full', { verifyIdentity: true }],
    ['sslaccept=strict', { verifyIdentity: true }],
    [`ssl=${encodeURIComponent('{"verifyIdentity":true}')}`, { verifyIdentity: true }],
    ['ssl=Amazon+RDS', 'Amazon RDS'],
    ['ssl-mode=DISABLED', null],
    ['sslmode=disable', null],
    ['useSSL=false', null],
    ['tls=false', null],
    ['ssl=0', null],
  ])('pass TLS on to the driver: %s', (option, ssl) => {
    const [host] = hostsOf(`mysql://h1/app?${option}&compress=true`)
    const { searchParams } = new URL(host?.url ?? '')
    const passed = searchParams.get('ssl')
    expect(typeof ssl === 'object' ? passed && JSON.parse(passed) : passed).toEqual(ssl)
    expect(searchParams.get('compress')).toBe('true')
    expect(searchParams.size).toBe(ssl === null ? 1 : 2)
  })

  it('use the connect timeout from the URL', () => {
    expect(connectTimeoutOf('mysql://h1,h2/app?ssl={}&connectTimeout=5000')).toBe(5000)
    expect(connectTimeoutOf('mysql://h1,h2/app')).toBeNull()
    for (const wrong of ['', '0', '-1', '5s'])
      expect(() => connectTimeoutOf(`mysql://h1/app?connectTimeout=${wrong}`)).toThrow(
        "'connectTimeout' is not a number of milliseconds",
      )
  })

  it.each([
    ['mysql://root:s3cret@h1,,h2/app', 'host 2 of 3 is empty'],
    ['mysql://root:s3cret@h1,/app', 'host 2 of 2 is empty'],
    ['mysql://root:s3cret@/app', 'the host is empty'],
    ['mysql://root:s3cret@h1,h2:99999999/app', 'host 2 of 2 is not a valid name'],
    ['mysql://root:s3cret@h1,::1:3306/app', 'host 2 of 2 is not a valid name'],
    ['mysql://root:s3cret@h1,H1:3306/app', 'host 2 of 2 is listed twice'],
    ['mysql://root:s3cret@h1,h2', 'does not name a database'],
    ['mysql://root:s3cret@h1,h2/', 'does not name a database'],
    ['mysql://root:s3cret/x@h1,h2/app', '%2F for /'],
    ['mysql://root:s3cret#x@h1,h2/app', '%23 for #'],
    ['mysql://root:s3cret%@h1,h2/app', '%25 for %'],
    ['mysql://root:s3cret@h1,h2/app?ssl=true', 'write ssl-mode=VERIFY_IDENTITY'],
    ['mysql://root:s3cret@h1,h2/app?ssl=', 'write ssl-mode=VERIFY_IDENTITY'],
    ['mysql://root:s3cret@h1,h2/app?useSSL=true', 'write ssl-mode=VERIFY_IDENTITY'],
    ['mysql://root:s3cret@h1,h2/app?tls=preferred', 'write ssl-mode=VERIFY_IDENTITY'],
    ['mysql://root:s3cret@h1,h2/app?ssl-mode=PREFERRED', 'write ssl-mode=VERIFY_IDENTITY'],
    ['mysql://root:s3cret@h1,h2/app?sslmode=maybe', 'write ssl-mode=VERIFY_IDENTITY'],
    ['mysql://root:s3cret@h1/app?sslmode=require&ssl={}', "'ssl' and another option about TLS"],
    ['mysql://root:s3cret@h1/app?charset=utf8mb4', "the option 'charset' is not supported"],
    ['mysql://root:s3cret@h1/app?connecttimeout=1', "the option 'connecttimeout' is not supported"],
    ['mysql://root:s3cret@h1/app?sslca=/ca.pem', "the option 'sslca' is not supported"],
  ])('%s is rejected, and the password is not shown', (url, said) => {
    const refuse = () => hostsOf(url)
    expect(refuse).toThrow(InvalidInputError)
    expect(refuse).toThrow(said)
    expect(refuse).not.toThrow('s3cret')
  })
})
