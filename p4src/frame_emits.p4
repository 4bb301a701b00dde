        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.snap);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.olaf);
        packet.emit(hdr.status);
