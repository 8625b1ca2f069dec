//! A control plane behind `https://`, vouched for by an authority of its own.

use std::sync::Arc;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tests::{Stack, spawn};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::{Guilds, Said};

/// Serves `address` over TLS with a certificate for 127.0.0.1; gives its port and its authority.
async fn terminate(address: &str, tasks: &mut JoinSet<()>) -> Result<(u16, String)> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate()?;
    let authority = params.self_signed(&authority_key)?;
    let key = KeyPair::generate()?;
    let issuer = Issuer::new(params, authority_key);
    let certificate =
        CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?,
        )?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let address = address.to_owned();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, address) = (acceptor.clone(), address.clone());
            connections.spawn(async move {
                let mut outside = acceptor.accept(stream).await?;
                let mut inside = TcpStream::connect(address).await?;
                copy_bidirectional(&mut outside, &mut inside).await
            });
        }
    });
    Ok((port, authority.pem()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_authority_is_named_and_no_other_is_trusted() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let mut tasks = JoinSet::new();
    let (port, authority) = terminate(stack.control_plane.address(), &mut tasks).await?;
    let file = stack.directory.path().join("authority.crt");
    std::fs::write(&file, authority)?;
    let ask = |host: &str, is_named: bool| -> Result<Said> {
        let mut command = guilds.command(&["guild", "show", "core", "-o", "json"]);
        command.env("GUILDS_URL", format!("https://{host}:{port}"));
        if is_named {
            command.env("GUILDS_CA_FILE", &file);
        }
        Said::of(spawn::output(&mut command)?)
    };
    assert_eq!(ask("127.0.0.1", true)?.json()?["id"], "core");
    let mut command = guilds.command(&["guild", "list"]);
    command.env("GUILDS_URL", format!("http://127.0.0.1:{port}"));
    let said = Said::of(spawn::output(&mut command)?)?;
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!(
        said.stderr,
        format!(
            "guilds: the control plane at 127.0.0.1:{port} speaks TLS; use https://127.0.0.1:{port}\n"
        )
    );
    // Neither without the authority's name, nor for another name than the certificate's.
    for (host, is_named) in [("127.0.0.1", false), ("localhost", true)] {
        let said = ask(host, is_named)?;
        assert_eq!(said.code, Some(5), "{said:?}");
        assert!(said.stdout.is_empty(), "{said:?}");
        assert!(said.stderr.contains("invalid peer certificate"), "{said:?}");
    }
    Ok(())
}
